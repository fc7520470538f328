"""The processes of one training, and their collective operations."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from layoutray import devices
from layoutray.errors import InputError

Value = TypeVar("Value")


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
        return DistributedDataParallel(
            model,
            device_ids=[self.device] if self.device.type == "cuda" else None,
            forward_sync_buffers=False,  # every worker sets buffers alike
            gradient_as_bucket_view=True,
        )

    def sum(self, *numbers: float) -> tuple[float, ...]:
        """Element-wise sum over all processes, in float64."""
        return tuple(self.sum_on_device(*numbers).tolist())

    def sum_on_device(self, *numbers: float) -> torch.Tensor:
        """As `sum`, but stays on the device, so that this process does not wait for a GPU."""
        on_gpu = self.device.type == "cuda"
        values = torch.tensor(numbers, dtype=torch.float64, pin_memory=on_gpu).to(self.device, non_blocking=True)
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def gather(self, values: list[Any]) -> list[Any]:
        """On rank 0, the concatenated lists of all processes in order of rank; elsewhere, nothing."""
        if self.size == 1:
            return values
        parts: list[list[Any]] | None = [[] for _ in range(self.size)] if self.leads else None
        dist.gather_object(values, parts)
        return [value for part in parts or () for value in part]

    def from_leader(self, make: Callable[[], Value]) -> Value:
        """What `make` returns on rank 0, on every process."""
        made = [make() if self.leads else None]
        if self.size > 1:
            dist.broadcast_object_list(made)
        return cast(Value, made[0])


def single_process(device: torch.device | None = None) -> World:
    """A world of only this process, on `device`; by default on the first visible GPU, else the CPU."""
    return World(0, 1, _selected(devices.first_visible() if device is None else device))


def joined(device: torch.device) -> World:
    """The world of a process group that is already set up, by Ray Train or torchrun; this process uses `device`."""
    return World(dist.get_rank(), dist.get_world_size(), _selected(device))


@contextmanager
def from_environment(gpus: int) -> Generator[World]:
    """The world that torchrun's environment variables describe; without them, only this process.

    Args:
        gpus: number of this machine's GPUs that the training may use. Its processes use the CPU if there are fewer GPUs
            than processes.

    Raises:
        InputError: if some of the processes use GPUs and the others CPUs.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    device = devices.of_local_rank(int(os.environ.get("LOCAL_RANK", "0")), processes, gpus)
    if size == 1:
        yield single_process(device)
        return
    store, rank, _ = next(rendezvous("env://"))
    _check_same_kind(store, rank, size, device.type)
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=size
    )
    try:
        yield joined(device)
    finally:
        dist.destroy_process_group()


def _check_same_kind(store: dist.Store, rank: int, size: int, kind: str) -> None:
    """Raise InputError unless all processes have the same kind of device: no backend connects GPUs with CPUs."""
    store.set(f"device/{rank}", kind)
    ranks: dict[str, list[int]] = {}
    for other in range(size):
        ranks.setdefault(store.get(f"device/{other}").decode(), []).append(other)
    store.set(f"known/{rank}", "")
    if rank == 0:  # may be the process that holds the store
        store.wait([f"known/{other}" for other in range(size)])
    if len(ranks) > 1:
        raise InputError(
            f"processes {ranks['cuda']} use GPUs and processes {ranks['cpu']} use CPUs, because a machine has fewer "
            "GPUs than processes; give torchrun a --nproc-per-node for which every machine has GPUs, or train with "
            "--gpus 0"
        )


def _selected(device: torch.device) -> torch.device:
    """`device`, made the current one of CUDA, which NCCL uses for objects."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
