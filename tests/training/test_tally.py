"""Steps are collected on the device, and read together."""

import torch

from layoutray.training.flops import Work
from layoutray.training.loop import Steps, Tally
from layoutray.training.world import single_process


def test_it_has_the_mean_loss_of_each_step_and_all_their_work() -> None:
    world = single_process(torch.device("cpu"))
    tally = Tally(world)
    tally.add(torch.tensor(6.0), torch.tensor(1.5), world.sum_on_device(10, 3, 50))
    tally.add(torch.tensor(0.0), torch.tensor(0.5), world.sum_on_device(7, 0, 20))
    assert tally.take() == Steps([2.0, 0.0], [1.5, 0.5], Work(17.0, 3.0, 70.0))
    tally.add(torch.tensor(5.0), torch.tensor(torch.inf), world.sum_on_device(1, 2, 1))
    assert tally.take() == Steps([2.5], [torch.inf], Work(1.0, 2.0, 1.0))
