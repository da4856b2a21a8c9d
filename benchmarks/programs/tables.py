"""pandas: groups, a function applied to rows, and a loop over single cells."""

import numpy as np
import pandas as pd

ROWS = 20_000


def make() -> pd.DataFrame:
    """Return a table of orders."""
    random = np.random.default_rng(2026)
    return pd.DataFrame(
        {
            "customer": random.integers(0, 200, ROWS),
            "price": random.uniform(1, 100, ROWS),
            "count": random.integers(1, 10, ROWS),
        }
    )


def total(row: pd.Series) -> float:
    """Return the amount of one order, with a discount."""
    amount = row["price"] * row["count"]
    if row["count"] > 5:
        amount *= 0.9
    return amount


def spread(group: pd.DataFrame) -> float:
    """Return the distance of a customer's largest and smallest price."""
    prices = group["price"]
    return prices.max() - prices.min()


def largest(orders: pd.DataFrame) -> float:
    """Return the highest price, cell by cell."""
    found = 0.0
    for position in range(8000):
        price = orders.iloc[position, 1]
        found = max(price, found)
    return found


def main() -> None:
    """Print the results."""
    orders = make()
    orders["total"] = orders.head(6000).apply(total, axis=1)
    spreads = orders.groupby("customer")[["price"]].apply(spread)
    print(orders["total"].sum(), spreads.mean(), largest(orders))


main()
