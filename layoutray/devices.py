"""The device of a process: a GPU that it may use, else the CPU; and how a CPU's memory is allocated."""

import ctypes

import torch

CPU = torch.device("cpu")

_BF16 = ("avx512_bf16", "amx_bf16", "bf16")
"""Instructions of x86 and Arm, as `torch.cpu.get_capabilities` names them."""
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Parameters of the GNU C library's `mallopt`."""
_LARGEST = 2**31 - 1


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


def multiplies_bf16(device: torch.device) -> bool:
    """Whether the device has instructions for products of matrices in bf16. Without them, bf16 is slower than fp32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    instructions = torch.cpu.get_capabilities()
    return any(instructions.get(name) for name in _BF16)


def answering(device: torch.device) -> torch.autocast:
    """The context in which trained models compute: autocast to bf16 if the device has instructions for it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=multiplies_bf16(device))


def keep_freed_memory() -> bool:
    """Let this process keep the memory that it frees, for its next tensors.

    By default, the GNU C library returns each large tensor's memory to the system, which must then provide new pages,
    filled with zeros, for the next tensor. That takes up to half of a training step on a CPU.

    Returns:
        Whether the process runs on the GNU C library; on others, nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _LARGEST))
