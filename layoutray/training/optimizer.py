"""AdamW without weight decay on biases and norms; linear warm-up, then linear decay to zero."""

import torch
from torch import nn

from layoutray.train_recipe import TrainRecipe


def adamw(model: nn.Module, settings: TrainRecipe) -> torch.optim.AdamW:
    """An optimiser over the parameters of `model` that need gradients; vectors (biases, norm gains) do not decay."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=settings.learning_rate,
        betas=(settings.adam_beta1, settings.adam_beta2),
        eps=settings.adam_epsilon,
        fused=True,
    )


def learning_rate(step: int, settings: TrainRecipe) -> float:
    """Learning rate of `step` (from 0): linear up to the peak over `warmup_steps`, then linear down to 0 at `steps`."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    return settings.learning_rate * (settings.steps - step) / max(settings.steps - settings.warmup_steps, 1)
