"""Sinusoidal positions ("Attention Is All You Need", 2017) in fairseq's order: all sines, then all cosines."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor


def sinusoids(positions: Int[Tensor, " length"], width: int) -> Float[Tensor, "length width"]:
    """sin(p·ω_i), then cos(p·ω_i), with ω_i = 10000^(−i/(width/2 − 1)); `width` is even and at least 4."""
    half = width // 2
    frequencies = torch.exp(torch.arange(half, device=positions.device) * (-math.log(10_000) / (half - 1)))
    angles = positions[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)
