"""What stands before and after the functions of a random program."""

from __future__ import annotations

PRELUDE = """
import types

state = 1

def c(k):
    "True now and then, once in k calls or so; the same on every run."
    global state
    state = (state * 1103515245 + 12345) % 2147483648
    return (state >> 8) % k == 0

def h(*args):
    return len(args) + sum(a for a in args if isinstance(a, int)) % 7

left = 0

def call(function, n):
    "Call a function, but only so many times that the program ends soon."
    global left
    left -= 1
    return h(function(n)) if left > 0 else 0

class managed:
    def __init__(self, n):
        self.n = n
    def __enter__(self):
        if self.n % 11 == 10:
            raise ValueError
        return self.n
    def __exit__(self, kind, *rest):
        return kind is KeyError and self.n > 2
    async def __aenter__(self):
        if self.n % 11 == 10:
            raise ValueError
        return await pause(self.n)
    async def __aexit__(self, kind, *rest):
        return await pause(kind is KeyError and self.n > 2)

class Box:
    item = 0

box = Box()

def same(target):
    return target

def marked(*args):
    return same

@types.coroutine
def pause(n):
    yield n
    return n

async def numbers(n):
    for i in range(n):
        yield await pause(i)

def inner(n):
    for i in range(n % 3):
        yield i
    return n

def drive(coroutine):
    sent = 0
    try:
        while True:
            coroutine.send(None)
            sent += 1
            if sent == 60:
                coroutine.throw(KeyError)
    except StopIteration as stop:
        return stop.value

def consume(generator, n):
    got = []
    for item in generator:
        got.append(item)
        if len(got) == 9:
            generator.throw(KeyError)
        if len(got) == 9 + n:
            break
    generator.close()
    return h(*got)

async def consume_async(generator, n):
    got = 0
    async for item in generator:
        got += 1
        if got == 7 + n:
            break
    await generator.aclose()
    return got
"""

DRIVER = """
result = []
for n in range(5):
    for run in calls:
        left = 20
        try:
            result.append(run(n))
        except Exception as error:
            result.append(type(error).__name__)
"""
