"""A process alone is a world of one; processes that torchrun starts are one world."""

import os
import socket
from multiprocessing import get_context

import torch

from layoutray.errors import InputError
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


def enter(rank: int, port: int, gpus: int) -> str:
    """What process `rank` of two machines with one process each becomes: its rank and size, or its error."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    try:
        with world.from_environment(gpus) as one:
            return f"{one.rank} of {one.size}, sum {one.sum(rank + 1.0)[0]}"
    except InputError as error:
        return str(error)


def enter_both(*gpus: int) -> list[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with get_context("spawn").Pool(2) as pool:
        return pool.starmap(enter, [(rank, port, number) for rank, number in enumerate(gpus)], chunksize=1)


def test_two_machines_without_gpus_are_one_world() -> None:
    assert enter_both(0, 0) == ["0 of 2, sum 3.0", "1 of 2, sum 3.0"]


def test_machines_with_and_without_gpus_are_refused_on_both() -> None:
    for message in enter_both(1, 0):
        assert "processes [0] use GPUs and processes [1] use CPUs" in message
        assert "--nproc-per-node" in message
