"""Kernels of a jitted step of JAX are on profiled lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("jax",)
MOST = 0.01  # of GPU time may be on no line

PROGRAM = """
import jax
import jax.numpy as jnp

@jax.jit
def step(x, w):
    return jnp.tanh(x @ w) + x

@profile
def work():
    x = jnp.ones((1024, 1024)) / 1024
    w = jnp.ones((1024, 1024)) / 1024
    x = step(x, w).block_until_ready()  # compiles
    for _ in range(50):
        x = step(x, w)
    x.block_until_ready()
    return float(x.sum())

say(sum=work())
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-api"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    one, whole = ran.line("        x = step(x, w)"), ran.totals
    lab.figure(
        kernels_of_the_line=one.kernels,
        adopted_share=one.adopted_ns / max(1, one.gpu_ns),
        calls=" ".join(ran.names("        x = step(x, w)", "runtime", "driver")),
    )
    lab.expect(one.kernels >= 50, f"50 steps have {one.kernels} kernels")
    lab.expect(
        ran.unattributed.gpu_ns <= MOST * whole.gpu_ns,
        f"{ran.unattributed.gpu_ns} of {whole.gpu_ns} ns are on no line",
    )
