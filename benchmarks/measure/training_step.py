"""A training step of a model, in seconds and bytes: what benchmarks of architectures have in common.

Windows are full of random tokens and boxes, and weights are fresh ones: speed does not depend on what is said, or learned.
"""

import resource
import statistics
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from layoutray import architectures, config
from benchmarks.measure import clock
from layoutray.tensors import Batch

VOCABULARY = 30_522

_MASK_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Case:
    """What one measurement is of.

    Attributes:
        size: of the architectures: tiny, small or base.
        length: tokens per window.
        batch: windows per step.
        compiled: through torch.compile.
        steps: that count, after one that does not (two when compiled).
        memory: bytes that the process may hold; what needs more fails instead of taking the machine down.
    """

    model: str
    size: str
    length: int
    batch: int
    compiled: bool
    steps: int
    memory: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One case's numbers.

    Attributes:
        seconds: of a step, the median.
        bytes: largest amount held on top of what an idle process holds: weights, gradients, optimiser and activations.
        flops: of the matrix products of a step, forward and backward.
    """

    seconds: float
    bytes: int
    flops: int


def measure(case: Case, build: Callable[[Case], nn.Module]) -> Measured:
    """Run `case` in this process, which has to be a fresh one for its memory to mean something.

    Args:
        build: makes the model, which is called with a batch and gives the loss.
    """
    device = clock.device()
    if device.type == "cpu":
        resource.setrlimit(resource.RLIMIT_DATA, (case.memory, case.memory))
    torch.manual_seed(0)
    idle = _idle(device)
    inputs = _batch(case)  # before the model draws random numbers: all models get the same
    model, batch = build(case).to(device).train(), inputs.to(device)
    step = training_step(torch.compile(model) if case.compiled else model, model, batch, device)
    for _ in range(2 if case.compiled else 1):
        step()
    seconds = [clock.seconds(step, device) for _ in range(case.steps)]
    peak = _peak(device) - idle
    given = (field.name for field in fields(inputs) if getattr(inputs, field.name) is not None)
    one = replace(inputs, **{name: getattr(inputs, name)[:1] for name in given}).to(device)
    with FlopCounterMode(display=False) as counter:
        model(one).backward()
    return Measured(statistics.median(seconds), peak, case.batch * counter.get_total_flops())


def product_speed(size: int = 2048, repeats: int = 5) -> float:
    """Operations per second of a large matrix product here: what bounds a step that does nothing else."""
    device = clock.device()
    one = torch.randn(size, size, device=device, dtype=torch.bfloat16 if device.type == "cuda" else torch.float32)
    best = float("inf")
    for _ in range(repeats):
        best = min(best, clock.seconds(lambda: torch.mm(one, one), device))
    return 2 * size**3 / best


def encoder(architecture: str, case: Case, **changes: Any) -> Any:
    """A fresh encoder of one of our architectures at the case's size and length, with `changes` to its configuration."""
    found = architectures.load(architecture)
    values = config.to_dict(found.sizes[case.size]) | {"max_length": case.length, **changes}
    return found.build(config.build(found.config, values), vocab_size=VOCABULARY, pad_id=0)


def training_step(
    forward: Callable[[Batch], Tensor], model: nn.Module, batch: Batch, device: torch.device
) -> Callable[[], None]:
    """A step of AdamW on `batch`, in bfloat16 where there is a GPU; `forward` is `model`, or what was compiled of it."""
    optimiser = torch.optim.AdamW([parameter for parameter in model.parameters() if parameter.requires_grad], lr=1e-4)

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = forward(batch)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def _batch(case: Case) -> Batch:
    shape = (case.batch, case.length)
    labels = torch.randint(5, VOCABULARY, shape).masked_fill(torch.rand(shape) >= _MASK_SHARE, -100)
    labels[:, 0] = 5
    corners = torch.randint(0, 1001, (*shape, 2, 2)).sort(dim=-2).values
    ids = torch.randint(5, VOCABULARY, shape)
    words, pages = torch.arange(case.length).expand(shape), torch.full((case.batch, 2), 1000)
    return Batch(
        ids, corners.flatten(-2), torch.ones(shape, dtype=torch.bool), labels, word_index=words, page_sizes=pages
    )


def _idle(device: torch.device) -> int:
    """Bytes held now; the peak is counted from here."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # sets the peak to what is held now
    return _status("VmRSS")


def _peak(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
