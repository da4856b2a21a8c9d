"""Tests of the shop."""

from django.test import TestCase

from shop.models import Customer, Order


class ShopTest(TestCase):
    """Pages of a shop with customers and orders."""

    @classmethod
    def setUpTestData(cls) -> None:
        """Fill the database."""
        for number in range(40):
            buyer = Customer.objects.create(name=f"customer {number}")
            for count in range(1, 8):
                Order.objects.create(customer=buyer, price=100 + number, count=count)

    def test_customers_are_listed(self) -> None:
        """The page has each customer."""
        for _ in range(5):
            self.assertContains(self.client.get("/customers/"), "orders</li>", count=40)

    def test_a_customer_has_a_sum(self) -> None:
        """The sum has the discount of large orders."""
        for buyer in Customer.objects.all():
            found = self.client.get(f"/customers/{buyer.pk}/").json()
            self.assertEqual(found["spent"], buyer.spent())

    def test_an_unknown_customer_is_not_found(self) -> None:
        """The status is 404."""
        response = self.client.get("/customers/0/")
        self.assertEqual(response.status_code, 404)

    def test_revenue_is_summed(self) -> None:
        """The database and Python agree."""
        total = sum(order.price * order.count for order in Order.objects.all())
        self.assertEqual(self.client.get("/revenue/").json(), {"revenue": total})
