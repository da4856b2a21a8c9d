"""Customers and their orders."""

from typing import ClassVar

from django.db import models


class Customer(models.Model):
    """Customer of the shop."""

    name = models.CharField(max_length=80)

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def spent(self) -> int:
        """Return the sum of all orders, in cents."""
        return sum(order.amount() for order in self.orders.all())


class Order(models.Model):
    """One order of a customer."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="orders")
    price = models.IntegerField()
    count = models.IntegerField(default=1)

    class Meta:
        """Order of the rows."""

        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        """Return price and count."""
        return f"{self.count} at {self.price}"

    def amount(self) -> int:
        """Return the price of all pieces, in cents, with a discount."""
        amount = self.price * self.count
        if self.count > 5:
            amount -= amount // 10
        return amount
