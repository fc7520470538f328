"""The processes of one training, and their collective operations."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class World:
    """This process among the processes of one training."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is rank 0, which writes everything that is written once."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """`model` on this device; gradients are averaged over all processes."""
        model.to(self.device)
        if self.size == 1:
            return model
        return DistributedDataParallel(model, device_ids=[self.device] if self.device.type == "cuda" else None)

    def sum(self, *numbers: float) -> tuple[float, ...]:
        """Element-wise sum over all processes, in float64."""
        values = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        if self.size > 1:
            dist.all_reduce(values)
        return tuple(values.tolist())

    def gather(self, values: list[Any]) -> list[Any]:
        """The concatenated lists of all processes in order of rank, on every process."""
        if self.size == 1:
            return values
        parts: list[list[Any]] = [[] for _ in range(self.size)]
        dist.all_gather_object(parts, values)
        return [value for part in parts for value in part]


def single_process() -> World:
    """A world of only this process, on the first GPU if there is one."""
    return World(0, 1, _device(0))


def joined() -> World:
    """The world of a process group that is already set up, by Ray Train or torchrun."""
    return World(dist.get_rank(), dist.get_world_size(), _device(int(os.environ.get("LOCAL_RANK", "0"))))


@contextmanager
def from_environment() -> Generator[World]:
    """The world that torchrun's environment variables describe; without them, only this process."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield single_process()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield joined()
    finally:
        dist.destroy_process_group()


def _device(index: int) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", index % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device
