"""Prices in cents."""


def with_tax(price, percent):
    return price + round(price * percent / 100)


def discounted(price, percent):
    return price - price * percent // 100


def shown(price):
    return f"{price // 100}.{price % 100}"
