"""What stands before and after the functions of a random program."""

from __future__ import annotations

PRELUDE = """
import types

def h(*args):
    return len(args) + sum(a for a in args if isinstance(a, int)) % 7

class managed:
    def __init__(self, n):
        self.n = n
    def __enter__(self):
        return self.n
    def __exit__(self, kind, *rest):
        return kind is KeyError and self.n > 2
    async def __aenter__(self):
        return await pause(self.n)
    async def __aexit__(self, kind, *rest):
        return await pause(kind is KeyError and self.n > 2)

@types.coroutine
def pause(n):
    yield n
    return n

async def numbers(n):
    for i in range(n):
        yield await pause(i)

def drive(coroutine):
    sent = 0
    try:
        while True:
            coroutine.send(None)
            sent += 1
            if sent == 40:
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
"""

DRIVER = """
result = []
for n in range(3):
    for call in calls:
        try:
            result.append(call(n))
        except Exception as error:
            result.append(type(error).__name__)
"""
