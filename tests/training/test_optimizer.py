"""AdamW's groups, and the schedule of its rate."""

import pytest
from torch import nn

from layoutray.recipe.train_section import TrainRecipe
from layoutray.training.optimizer import adamw, learning_rate, set_rate


def test_biases_and_norms_do_not_decay_and_every_parameter_is_trained_once() -> None:
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 10))
    model[3].weight = model[0].weight
    optimizer = adamw(model, TrainRecipe(steps=1, weight_decay=0.1, adam_beta1=0.8, adam_beta2=0.9, adam_epsilon=1e-6))
    decays = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert {name: decays[id(p)] for name, p in model.named_parameters()} == {
        "0.weight": 0.1,
        "1.weight": 0.1,
        "1.bias": 0.0,
        "2.weight": 0.0,
        "2.bias": 0.0,
        "3.bias": 0.0,
    }
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(list(model.parameters()))
    assert {(group["betas"], group["eps"]) for group in optimizer.param_groups} == {((0.8, 0.9), 1e-6)}


def test_frozen_parameters_are_left_out() -> None:
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    assert [len(group["params"]) for group in adamw(model, TrainRecipe(steps=1)).param_groups] == [1, 0]


def test_new_parameters_learn_at_a_multiple_of_the_rate() -> None:
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 4))
    settings = TrainRecipe(steps=10, learning_rate=2.0, weight_decay=0.1, new_parts_factor=5.0)
    optimizer = adamw(model, settings, ("0.weight",))
    set_rate(optimizer, 5, settings)
    rates = {id(p): (group["lr"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]}
    assert {name: rates[id(p)] for name, p in model.named_parameters()} == {
        "0.weight": (5.0, 0.1),
        "1.weight": (1.0, 0.1),
        "1.bias": (1.0, 0.0),
    }


def test_the_rate_rises_to_the_peak_and_falls_to_zero() -> None:
    settings = TrainRecipe(steps=10, learning_rate=2.0, warmup_steps=4)
    rates = [learning_rate(step, settings) for step in range(11)]
    assert rates == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0, 10 / 6, 8 / 6, 1.0, 4 / 6, 2 / 6, 0.0])


def test_without_warm_up_the_first_step_has_the_peak() -> None:
    assert learning_rate(0, TrainRecipe(steps=10, learning_rate=2.0)) == 2.0


def test_a_run_that_only_warms_up() -> None:
    settings = TrainRecipe(steps=4, learning_rate=1.0, warmup_steps=4)
    assert [learning_rate(step, settings) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 0.0]
