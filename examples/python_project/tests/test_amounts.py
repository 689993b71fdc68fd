import unittest

from recipes.amounts import scaled, shown


class Amounts(unittest.TestCase):
    def test_they_grow_with_the_guests(self):
        self.assertEqual(scaled(500, 4, 6), 750)

    def test_much_is_shown_in_kilograms(self):
        self.assertEqual(shown(750), "750 g")
        self.assertEqual(shown(1500), "1.5 kg")
