import unittest

from prices import discounted, shown, with_tax


class Prices(unittest.TestCase):
    def test_tax_is_added(self):
        self.assertEqual(with_tax(1000, 20), 1200)

    def test_a_discount_is_taken_off(self):
        self.assertEqual(discounted(1000, 25), 750)

    def test_a_price_is_shown_with_two_places(self):
        self.assertEqual(shown(1005), "10.05")

    @unittest.skip("waits for exchange rates")
    def test_other_currencies(self):
        self.fail()
