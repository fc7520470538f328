"""A process alone is a world of one."""

import torch

from layoutray.training import world


def test_alone_leads_and_sums_with_nobody() -> None:
    one = world.single_process()
    assert (one.rank, one.size, one.leads) == (0, 1, True)
    assert one.sum(1.5, 2.0) == (1.5, 2.0)
    assert one.gather([1, 2]) == [1, 2]
    model = torch.nn.Linear(1, 1)
    assert one.wrap(model) is model


def test_without_torchruns_variables_the_environment_is_this_process() -> None:
    with world.from_environment(0) as one:
        assert (one.size, one.device.type) == (1, "cpu")
