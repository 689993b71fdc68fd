"""Amounts for more or fewer people."""

from fractions import Fraction


def scaled(grams, people, guests):
    """What guests need of an ingredient that is given for so many people."""
    return round(Fraction(grams * guests, people))


def shown(grams):
    return f"{grams / 1000:g} kg" if grams >= 1000 else f"{grams} g"
