"""The device of a process: a GPU that it may use, else the CPU."""

import torch

CPU = torch.device("cpu")


def first_visible() -> torch.device:
    """The first GPU that PyTorch can use in this process, else the CPU."""
    return of_local_rank(0, 1, visible_gpus())


def visible_gpus() -> int:
    """Number of GPUs that PyTorch can use in this process."""
    return torch.cuda.device_count()


def of_local_rank(rank: int, processes: int, gpus: int) -> torch.device:
    """The device of process `rank` of the `processes` on this machine: its own GPU, or the CPU for all of them.

    Args:
        gpus: number of GPUs that the processes may use. All use the CPU if there is not one for each.
    """
    return torch.device("cuda", rank) if processes <= gpus else CPU
