"""A loop of JAX has the kernels and times that torch.profiler has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch", "jax")
ALONE = True
LIMIT_S = 150

PROGRAM = """
import os
# Otherwise it chooses kernels by their time, not the same ones in each process.
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"
import torch
import jax
import jax.numpy as jnp
from regions import compare, region

@jax.jit
def step(weights, inputs):
    def loss(weights):
        return jnp.square(jnp.tanh(inputs @ weights)).mean()
    return weights - 1e-3 * jax.grad(loss)(weights)

def work():
    weights = first
    for _ in range(10):
        with region("step"):
            weights = step(weights, inputs).block_until_ready()
    with region("read"):
        return float(weights.sum())

torch.ones(1, device="cuda").sum().item()
first = jnp.ones((2048, 2048)) / 2048
inputs = jnp.ones((1024, 2048))
compare(work)
"""


def check(lab: Lab) -> None:
    compare(lab, PROGRAM, one_by_one=True)
