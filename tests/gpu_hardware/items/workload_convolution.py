"""A convolution net has the kernels and times of torch.profiler and of CUDA events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALONE = True
LIMIT_S = 150

PROGRAM = """
import torch
from regions import compare, region

def block(channels):
    convolution = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    return [convolution, torch.nn.BatchNorm2d(channels), torch.nn.ReLU()]

def work():
    torch.cuda._sleep(100_000_000)  # so that all of the step is launched early
    with region("forward"):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    with region("backward"):
        loss.backward()
    with region("step"):
        optimizer.step()
    optimizer.zero_grad()

torch.manual_seed(1)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
first = torch.nn.Conv2d(3, 64, 7, stride=2, padding=3)
last = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)]
model = torch.nn.Sequential(first, *block(64), *block(64), *block(64), *last).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
images = torch.randn(64, 3, 224, 224, device="cuda")
labels = torch.randint(10, (64,), device="cuda")
compare(work)
"""


# There is no double of cuDNN.
WITHOUT_CUDNN = "import torch\ntorch.backends.cudnn.enabled = False\n"


def check(lab: Lab) -> None:
    program = WITHOUT_CUDNN + PROGRAM if lab.doubles else PROGRAM
    compare(lab, program, timed=("forward", "backward"))
