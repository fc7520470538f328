"""Random sequences of calls about jobs by two keys: each sees its own jobs alone, and what is deleted is gone."""

from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule, run_state_machine_as_test

from tests.fortress.conftest import Effort, Target
from tests.ocr.files import encoded, picture

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.ray,
    pytest.mark.ocr,
    pytest.mark.fortress,
    pytest.mark.timeout(1800),
]

ENDED = {"succeeded", "partially_succeeded", "failed", "cancelled"}
NAMES = st.sampled_from(["honest", "hostile"])
FILE = encoded(picture("total 12.50", size=(300, 100), at=(10, 10), height=20), "PNG")


class Jobs(RuleBasedStateMachine):
    """A job is its id and the name of its key."""

    jobs = Bundle("jobs")

    target: ClassVar[Target]

    def __init__(self) -> None:
        super().__init__()
        self._clients = {name: self.target.client(name) for name in self.target.keys}
        self._owners: dict[str, str] = {}

    def _ask(self, name: str, method: str, path: str, **given: Any) -> httpx.Response:
        answer = self._clients[name].request(method, path, **given)
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        return answer

    @rule(target=jobs, name=NAMES, files=st.integers(0, 3), content=st.sampled_from([FILE, FILE[:100], b""]))
    def submit(self, name: str, files: int, content: bytes) -> Any:
        parts = [("file", (f"{number}.png", content)) for number in range(files)]
        answer = self._ask(name, "POST", "/v1/jobs", files=parts)
        if answer.status_code != 202:
            return multiple()
        self._owners[answer.json()["id"]] = name
        return answer.json()["id"]

    @rule(job=jobs, name=NAMES, path=st.sampled_from(["", "/results"]))
    def look(self, job: str, name: str, path: str) -> None:
        answer = self._ask(name, "GET", f"/v1/jobs/{job}{path}")
        if self._owners.get(job) != name:
            assert answer.status_code == 404
        else:
            assert answer.status_code in ({200} if path == "" else {200, 409})

    @rule(job=jobs, name=NAMES)
    def cancel(self, job: str, name: str) -> None:
        answer = self._ask(name, "POST", f"/v1/jobs/{job}/cancel")
        assert (answer.status_code == 404) == (self._owners.get(job) != name)

    @rule(job=jobs, name=NAMES)
    def delete(self, job: str, name: str) -> None:
        answer = self._ask(name, "DELETE", f"/v1/jobs/{job}")
        if self._owners.get(job) != name:
            assert answer.status_code == 404
        elif answer.status_code < 300:
            del self._owners[job]

    def teardown(self) -> None:
        for job, name in self._owners.items():
            self._ask(name, "POST", f"/v1/jobs/{job}/cancel")
            self._ask(name, "DELETE", f"/v1/jobs/{job}")
        for client in self._clients.values():
            client.close()


def test_jobs_of_two_keys(target: Target, effort: Effort) -> None:
    Jobs.target = target
    run_state_machine_as_test(
        seed(effort.seed)(Jobs),
        settings=settings(
            max_examples=max(effort.examples // 20, 2),
            stateful_step_count=12,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
