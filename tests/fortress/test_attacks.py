"""No attack gets a 5xx, stops the endpoint for others, takes its memory, or harms the next honest request."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from tests.cluster.running_endpoint import as_request, rendered
from tests.fortress.attacks import ATTACKS, Attack
from tests.fortress.conftest import Effort, Target
from tests.fortress.watch import watched

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.ray,
    pytest.mark.ocr,
    pytest.mark.fortress,
    pytest.mark.timeout(900),
]

LATENCY_SECONDS = 5.0
"""Of `/livez`; other processes use the cores too."""
GROWTH = 400 * 2**20
ALLOWED = {503, 504}
"""Statuses from 500 that say that the endpoint is busy, or the document too costly."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("key", ["hostile", ""], ids=["with a key", "without a key"])
def test_an_attack_harms_no_one_else(
    target: Target, effort: Effort, attack: Attack, key: str, record_property: Callable[[str, object], None]
) -> None:
    body = as_request(*rendered())
    with watched(target.url) as seen, target.client(key) as client:
        statuses = Counter(attack(client, Random(f"{effort.seed}/{attack.__name__}")))
    record_property("statuses", dict(statuses))
    record_property("livez seconds", seen.latency)
    record_property("growth MiB", seen.growth / 2**20)
    assert {status for status in statuses if status >= 500} <= ALLOWED
    assert seen.latency < LATENCY_SECONDS
    assert seen.growth < GROWTH
    with target.client("honest") as client:
        assert client.post("/v1/extract", json=body).status_code == 200
