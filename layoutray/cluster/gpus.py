"""GPUs of a Ray cluster: how many each process requests, and the device of a process."""

import logging
import os

import ray
import torch

from layoutray.devices import CPU

_log = logging.getLogger(__name__)


def of_each(processes: int, requested: float | None) -> float:
    """GPUs of each process: `requested`; if that is None, 1 if the connected cluster has one for each, else 0."""
    if requested is not None:
        return requested
    available = int(ray.cluster_resources().get("GPU", 0))
    if 0 < available < processes:
        _log.warning(
            "the cluster has %d GPUs for %d processes, so these use CPUs; give --gpus 1 to wait for more GPUs, "
            "or start at most %d processes to use them",
            available,
            processes,
            available,
        )
    return 1 if available >= processes else 0


def assigned_device() -> torch.device:
    """The GPU that Ray has assigned to this actor, task or Train worker, else the CPU.

    PyTorch's own list does not tell: Ray shows all GPUs of a node to a process that has requested none.
    """
    index = assigned_index()
    if index is None:
        return CPU
    if not torch.cuda.is_available():
        _log.warning("Ray has assigned a GPU to this process, but PyTorch cannot use one here; it uses the CPU")
        return CPU
    return torch.device("cuda", index)


def assigned_index() -> int | None:
    """Index of the assigned GPU among those that are visible to this process; None if none is assigned."""
    assigned = [str(gpu) for gpu in ray.get_gpu_ids()]
    if not assigned:
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",").index(assigned[0]) if visible else int(assigned[0])
