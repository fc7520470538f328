"""AdamW without weight decay on biases and norms; linear warm-up, then linear decay to zero; clipped gradients."""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from layoutray.recipe.train_section import TrainRecipe


def adamw(model: nn.Module, settings: TrainRecipe, new: Collection[str] = ()) -> torch.optim.AdamW:
    """An optimiser over the parameters of `model` that need gradients; vectors (biases, norm gains) do not decay.

    Args:
        new: names of the parameters that learn at `settings.new_parts_factor` times the learning rate.
    """
    factor = settings.new_parts_factor
    apart = frozenset(new if factor != 1 else ())
    parameters = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    groups = _groups([parameter for name, parameter in parameters if name not in apart], settings, 1.0)
    if apart:
        groups += _groups([parameter for name, parameter in parameters if name in apart], settings, factor)
    return torch.optim.AdamW(
        groups,
        lr=settings.learning_rate,
        betas=(settings.adam_beta1, settings.adam_beta2),
        eps=settings.adam_epsilon,
        fused=True,
    )


def clip_and_step(model: nn.Module, optimizer: torch.optim.AdamW, clip: float) -> Float[Tensor, ""]:
    """A step of an `adamw`, unless the norm of the gradient is not finite. Returns that norm, before clipping.

    The norm stays on the device, and the device skips the step: its kernel reads `found_inf`, which
    `torch.amp.GradScaler` uses too. Nothing waits for a GPU.

    Args:
        clip: the gradient is scaled down to this norm; 0 is no limit.
    """
    norm = nn.utils.get_total_norm(parameter.grad for parameter in model.parameters() if parameter.grad is not None)
    if clip:
        nn.utils.clip_grads_with_norm_(model.parameters(), clip, norm)
    optimizer.found_inf = (~norm.isfinite()).float()  # pyright: ignore[reportAttributeAccessIssue]
    optimizer.step()
    return norm


def set_rate(optimizer: torch.optim.Optimizer, step: int, settings: TrainRecipe) -> None:
    """Give the parameters of an `adamw` the learning rates of `step`."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step, settings) * group["factor"]


def learning_rate(step: int, settings: TrainRecipe) -> float:
    """Learning rate of `step` (from 0): linear up to the peak over `warmup_steps`, then linear down to 0 at `steps`."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    return settings.learning_rate * (settings.steps - step) / max(settings.steps - settings.warmup_steps, 1)


def _groups(parameters: Sequence[nn.Parameter], settings: TrainRecipe, factor: float) -> list[dict[str, Any]]:
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay, "factor": factor},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0, "factor": factor},
    ]
