"""A program whose profiles are beside it."""
import functools


@profile
def steps(count):
    total = 0
    for number in range(count):
        total += number  # "naïve" — 損失

    return total


class Box:
    """Members of every kind."""

    def __init__(self, size):
        self.size = size

    @property
    @profile
    def area(self):
        # a comment
        text = "\ttabs	and no end"
        return self.size * len(text)

    @profile
    def never(self):
        return None


@functools.lru_cache(maxsize=None)
@profile
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@profile
def generated():
    found = [
        one
        for one in range(100)
        if one % 3
    ]
    yield from found


@profile
def empty(): pass


steps(2000)
for size in range(3):
    Box(size).area
fib(20)
list(generated())
one_line = profile(lambda x: x + 1)
one_line(1)
