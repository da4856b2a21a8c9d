"""Work that TensorFlow or JAX launches from its own threads is on the step's line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALSO = ("tensorflow", "jax")
MOST = 0.01  # of GPU time may be on no line

TENSORFLOW = """
import tensorflow as tf

@tf.function
def step(x, w):
    return tf.tanh(tf.matmul(x, w)) + x

@profile
def work():
    x = tf.ones((1024, 1024)) / 1024
    w = tf.ones((1024, 1024)) / 1024
    for _ in range(50):
        x = step(x, w)
    return float(tf.reduce_sum(x).numpy())

say(sum=work())
"""
# Eight threads, each with its own step; one line waits for all threads.
JAX = """
from concurrent.futures import ThreadPoolExecutor
import jax
import jax.numpy as jnp

@jax.jit
def step(x):
    return jnp.tanh(x @ x) + x

def steps(n):
    x = jnp.full((512, 512), n / 512)
    for _ in range(20):
        x = step(x)
    return float(x.sum())

@profile
def work():
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(steps, range(8)))

say(sum=work())
"""


def check(lab: Lab) -> None:
    lacks = {name: lab.lack(name) for name in ("tensorflow", "jax")}
    if all(lacks.values()):
        lab.need(*lacks)
    for name, words, program in (
        ("tensorflow", "x = step", TENSORFLOW),
        ("jax", "pool.map", JAX),
    ):
        if lacks[name]:
            lab.figure(**{name: f"not run: {lacks[name]}"})
            continue
        ran = lab.kernprof(program)
        if not lab.expect_well(ran):
            continue
        lab.expect_whole(ran)
        one, whole = ran.line(words), ran.totals
        share = one.adopted_ns / max(1, one.gpu_ns)
        lab.figure(**{f"{name}_kernels": one.kernels, f"{name}_adopted_share": share})
        lab.expect(one.kernels >= 50, f"{name}: {one.kernels} kernels on the line")
        lab.expect(
            ran.unattributed.gpu_ns <= MOST * whole.gpu_ns,
            f"{name}: {ran.unattributed.gpu_ns} of {whole.gpu_ns} ns are on no line",
        )
