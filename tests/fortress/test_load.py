"""Honest requests beside attacks: all are answered, and not much slower than without attacks."""

import threading
import time
from collections.abc import Callable
from itertools import cycle
from random import Random
from statistics import quantiles

import httpx
import pytest

from tests.cluster.running_endpoint import as_request, rendered
from tests.fortress.attacks import ATTACKS, Attack, silent_connections
from tests.fortress.conftest import Effort, Target

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.ray,
    pytest.mark.ocr,
    pytest.mark.fortress,
    pytest.mark.timeout(900),
]

BODY = as_request(*rendered())


def test_honest_requests_are_answered_beside_attacks(
    target: Target, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    with target.client("honest") as client:
        quiet = _seconds(client, time.monotonic() + effort.seconds / 5)
        ended = threading.Event()
        attackers = [
            threading.Thread(target=_attack, args=(target, attacks, effort.seed, ended))
            for attacks in (ATTACKS[::2], ATTACKS[1::2])
        ]
        for attacker in attackers:
            attacker.start()
        try:
            attacked = _seconds(client, time.monotonic() + effort.seconds)
        finally:
            ended.set()
            for attacker in attackers:
                attacker.join()
    record_property("p95 seconds, quiet", _p95(quiet))
    record_property("p95 seconds, attacked", _p95(attacked))
    assert attacked


def _attack(target: Target, attacks: tuple[Attack, ...], seed: int, ended: threading.Event) -> None:
    """Attack until the end; answers are judged by `test_attacks`."""
    for number, attack in enumerate(cycle(one for one in attacks if one is not silent_connections)):
        with target.client("hostile") as client:
            try:
                for _ in attack(client, Random(f"{seed}/{number}")):
                    if ended.is_set():
                        return
            except httpx.TransportError:
                continue


def _seconds(client: httpx.Client, until: float) -> list[float]:
    """Seconds of honest requests, one after the other. 503 is asked again, as clients do."""
    seconds: list[float] = []
    while time.monotonic() < until or not seconds:
        started = time.perf_counter()
        while (answer := client.post("/v1/extract", json=BODY)).status_code == 503:
            time.sleep(0.1)
        assert answer.status_code == 200, answer.text
        seconds.append(time.perf_counter() - started)
    return seconds


def _p95(seconds: list[float]) -> float:
    return quantiles([*seconds, *seconds], n=20)[-1]
