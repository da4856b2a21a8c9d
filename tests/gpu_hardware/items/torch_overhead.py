"""A step of training takes at most 5 % longer with lineprof.

The figures are ms of a step that keeps the GPU busy, and of a short step: bare, with
lineprof, torch.profiler and Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
LIMIT_S = 240
ALSO = ("triton",)
MOST = 1.05

PROGRAM = """
import contextlib
import sys
import statistics
import torch

@contextlib.contextmanager
def tool(name):
    if name == "torch.profiler":
        from torch.profiler import ProfilerActivity
        both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=both):
            yield
    elif name == "proton":
        import triton.profiler as proton
        proton.start("steps")
        yield
        proton.finalize()
    else:
        yield

@profile
def step(inputs, wanted):
    outputs = model(inputs)
    loss = torch.nn.functional.mse_loss(outputs, wanted)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

width, batch = (1024, 32) if sys.argv[1] == "large" else (128, 1)
layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 6).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
inputs = torch.randn(batch, 128, width, device="cuda")
wanted = torch.randn(batch, 128, width, device="cuda")
with tool(sys.argv[2]):
    took = []
    for _ in range(60):
        begun = clock()
        step(inputs, wanted)
        torch.cuda.synchronize()
        took.append((clock() - begun) / 1e6)
say(ms=statistics.median(took[20:]))
"""


OTHERS = ("torch.profiler", "proton")


def check(lab: Lab) -> None:
    ratios = {}
    for size in ("large", "small"):
        bare, ours = [], []
        for _ in range(2):  # in turn, because the device's clock rate varies
            bare.append(lab.python(PROGRAM, size, "bare").said.get("ms", 0.0))
            ran = lab.kernprof(PROGRAM, size, "bare")
            ours.append(ran.said.get("ms", 0.0))
            if lab.expect_well(ran):
                lab.expect_whole(ran)
                lab.expect(ran.line("outputs = model").kernels, "nothing is recorded")
        if not lab.expect(all(bare) and all(ours), f"{size}: {bare} ms, {ours} ms"):
            return
        ratios[size] = min(ours) / min(bare)
        lab.figure(
            **{
                f"{size}_ms": bare,
                f"{size}_with_lineprof_ms": ours,
                f"{size}_ratio": ratios[size],
            }
        )
        for other in OTHERS:  # only figures, not part of the verdict
            lack = lab.lack("triton") if other == "proton" else ""
            what: object = f"not run: {lack}"
            if not lack:
                ran = lab.python(PROGRAM, size, other)
                what = ran.said.get("ms", ran.gist)
            lab.figure(**{f"{size}_with_{other}_ms": what})
    lab.expect(ratios["large"] <= MOST, f"it takes {ratios['large']:.3f} times as long")
