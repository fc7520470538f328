"""Time and memory of a training step of a model.

Windows are full of random tokens and boxes, and weights are freshly initialised: speed does not depend on their values.
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

from benchmarks.measure import clock
from layoutray import architectures, config
from layoutray.tensors import Batch

VOCABULARY = 30_522

_MASK_SHARE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCase:
    """One measurement.

    Attributes:
        size: of the architecture: tiny, small or base.
        length: tokens per window.
        batch: windows per step.
        compiled: whether to use torch.compile.
        steps: measured steps, after one warm-up step (two when compiled).
        memory: bytes that the process may allocate; a step that needs more fails, and the machine stays usable.
    """

    model: str
    size: str
    length: int
    batch: int
    compiled: bool
    steps: int
    memory: int


@dataclass(frozen=True, slots=True)
class StepCost:
    """Cost of a training step.

    Attributes:
        seconds: median of the steps.
        bytes: peak memory above that of the process before: weights, gradients, optimiser state and activations.
        flops: operations of the matrix products of a step, forward and backward.
    """

    seconds: float
    bytes: int
    flops: int


def measure_step(case: StepCase, build: Callable[[StepCase], nn.Module]) -> StepCost:
    """Run `case` in this process, which must be a new one, because freed memory of earlier work would distort the peak.

    Args:
        build: returns the model, which maps a batch to the loss.
    """
    device = clock.device()
    if device.type == "cpu":
        resource.setrlimit(resource.RLIMIT_DATA, (case.memory, case.memory))
    torch.manual_seed(0)
    idle = _idle(device)
    inputs = _batch(case)  # before the model draws random numbers, so that all models get the same batch
    model, batch = build(case).to(device).train(), inputs.to(device)
    step = training_step(torch.compile(model) if case.compiled else model, model, batch, device)
    for _ in range(2 if case.compiled else 1):
        step()
    seconds = [clock.seconds(step, device) for _ in range(case.steps)]
    peak = _peak(device) - idle
    present = (field.name for field in fields(inputs) if getattr(inputs, field.name) is not None)
    one = replace(inputs, **{name: getattr(inputs, name)[:1] for name in present}).to(device)
    with FlopCounterMode(display=False) as counter:
        model(one).backward()
    return StepCost(statistics.median(seconds), peak, case.batch * counter.get_total_flops())


def matrix_product_speed(size: int = 2048, repeats: int = 5) -> float:
    """Operations per second of a large matrix product on this machine: an upper bound for a training step."""
    device = clock.device()
    matrix = torch.randn(size, size, device=device, dtype=torch.bfloat16 if device.type == "cuda" else torch.float32)
    best = float("inf")
    for _ in range(repeats):
        best = min(best, clock.seconds(lambda: torch.mm(matrix, matrix), device))
    return 2 * size**3 / best


def build_encoder(architecture: str, case: StepCase, **changes: Any) -> Any:
    """An untrained encoder of the case's size and length, with `changes` to its configuration."""
    loaded = architectures.load(architecture)
    values = config.to_dict(loaded.sizes[case.size]) | {"max_length": case.length, **changes}
    return loaded.build(config.build(loaded.config, values), vocab_size=VOCABULARY, pad_id=0)


def training_step(
    forward: Callable[[Batch], Tensor], model: nn.Module, batch: Batch, device: torch.device
) -> Callable[[], None]:
    """A function that takes one AdamW step on `batch`, in bfloat16 on a GPU.

    Args:
        forward: `model`, or its compiled form.
    """
    optimiser = torch.optim.AdamW([parameter for parameter in model.parameters() if parameter.requires_grad], lr=1e-4)

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = forward(batch)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def _batch(case: StepCase) -> Batch:
    shape = (case.batch, case.length)
    labels = torch.randint(5, VOCABULARY, shape).masked_fill(torch.rand(shape) >= _MASK_SHARE, -100)
    labels[:, 0] = 5
    corners = torch.randint(0, 1001, (*shape, 2, 2)).sort(dim=-2).values
    ids = torch.randint(5, VOCABULARY, shape)
    words, pages = torch.arange(case.length).expand(shape), torch.full((case.batch, 2), 1000)
    return Batch(
        input_ids=ids,
        boxes=corners.flatten(-2),
        mask=torch.ones(shape, dtype=torch.bool),
        labels=labels,
        word_index=words,
        page_sizes=pages,
    )


def _idle(device: torch.device) -> int:
    """Bytes allocated now; also resets the peak to this amount."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    return _status("VmRSS")


def _peak(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
