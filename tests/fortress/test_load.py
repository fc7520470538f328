"""Honest requests beside attacks and a flood: all are answered, and not much slower than without."""

import threading
import time
from collections.abc import Callable
from itertools import cycle
from random import Random
from statistics import quantiles
from typing import Any

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
WORDS = BODY["pages"][0]["words"]
GREEDY = {"pages": [dict(BODY["pages"][0], words=[WORDS[number % len(WORDS)] for number in range(3_000)])]}
FLOODS = 6


def test_honest_requests_are_answered_beside_attacks_and_a_flood(
    target: Target, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Beside a key that sends large pages without a pause, another one waits for one of them, not for all."""
    with target.client("honest") as client, target.client("hostile") as greedy:
        quiet = _seconds(client, BODY, time.monotonic() + effort.seconds / 5)
        page = _seconds(greedy, GREEDY, time.monotonic())[0]
        ended = threading.Event()
        threads = [
            *(
                threading.Thread(target=_attack, args=(target, part, effort.seed, ended))
                for part in (ATTACKS[::2], ATTACKS[1::2])
            ),
            *(threading.Thread(target=_flood, args=(target, ended)) for _ in range(FLOODS)),
        ]
        for thread in threads:
            thread.start()
        try:
            attacked = _seconds(client, BODY, time.monotonic() + effort.seconds)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    for name, value in {"quiet": _p95(quiet), "attacked": _p95(attacked), "one page": page}.items():
        record_property(name, value)
    assert _p95(attacked) <= 2 * _p95(quiet) + 2 * page  # one page waits, and programs share the processors


def _flood(target: Target, ended: threading.Event) -> None:
    with target.client("hostile") as client:
        while not ended.is_set():
            client.post("/v1/extract", json=GREEDY)


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


def _seconds(client: httpx.Client, body: dict[str, Any], until: float) -> list[float]:
    """Seconds of requests, one after the other. 503 is asked again, as clients do."""
    seconds: list[float] = []
    while time.monotonic() < until or not seconds:
        started = time.perf_counter()
        while (answer := client.post("/v1/extract", json=body)).status_code == 503:
            time.sleep(0.1)
        assert answer.status_code == 200, answer.text
        seconds.append(time.perf_counter() - started)
    return seconds


def _p95(seconds: list[float]) -> float:
    return quantiles([*seconds, *seconds], n=20)[-1]
