"""Webhooks of jobs in the ledger: what is to be sent, what was sent, and the secrets that sign it.

The end of a job makes its webhook due, in the same transaction. It stays due until a receiver has accepted it or all
attempts have failed, also through restarts. One that was accepted just before a kill is sent again, with the same id.
"""

import base64
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from layoutray.serving.jobs.clock import SteadyClock
from layoutray.serving.jobs.ledger_database import LedgerDatabase

DELAYS = (5.0, 30.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0)
"""Seconds from a failed attempt to the next one."""
_SECRET_BYTES = 32

WebhookState = Literal["waiting", "delivered", "failed"]


@dataclass(frozen=True, slots=True)
class DueWebhook:
    """A webhook that is to be called now.

    Attributes:
        owner: of the job.
        attempt: number of this attempt, from 1.
    """

    job: str
    owner: str
    url: str
    host: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of an attempt to call a webhook.

    Attributes:
        milliseconds: until the receiver answered, or the attempt failed.
        status: HTTP status of the answer; None without one.
        error: why the attempt failed; None if it did not.
        final: whether the receiver wants no further attempt.
    """

    milliseconds: float
    status: int | None
    error: str | None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """An attempt in the history: see `Reply`. `sent` is Unix time."""

    attempt: int
    sent: float
    milliseconds: float
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Webhook:
    """The webhook of a job.

    Attributes:
        state: `failed` when there will be no further attempt.
        due: Unix time of the next attempt; None while the job runs, and when there is none.
    """

    url: str
    state: WebhookState
    due: float | None
    deliveries: Sequence[Delivery]


class Deliveries:
    """The webhooks in the database of a ledger, whose clock says what is due."""

    def __init__(self, database: LedgerDatabase, clock: SteadyClock) -> None:
        self._database = database
        self._clock = clock

    def of_job(self, job: str) -> Webhook | None:
        """The webhook of a job; None if it has none."""
        rows = self._database.rows("SELECT url, state, due FROM webhooks WHERE job = ?", job)
        if not rows:
            return None
        attempts = self._database.rows(_HISTORY, job)
        return Webhook(rows[0]["url"], rows[0]["state"], rows[0]["due"], [Delivery(**row) for row in attempts])

    def next(self, busy: Collection[str]) -> DueWebhook | None:
        """The webhook that is due for the longest time, except those at the hosts `busy`."""
        rows = self._database.rows(_DUE.format(others=" AND host <> ?" * len(busy)), self._clock.now(), *busy)
        return DueWebhook(**rows[0]) if rows else None

    def record(self, webhook: DueWebhook, reply: Reply) -> WebhookState:
        """Store an attempt that has just ended. Returns what becomes of the webhook, which may be deleted by now."""
        state: WebhookState = "waiting"
        if reply.error is None:
            state = "delivered"
        elif reply.final or webhook.attempt > len(DELAYS):
            state = "failed"
        now = self._clock.now()
        due = now + _spread(DELAYS[webhook.attempt - 1]) if state == "waiting" else None
        with self._database.transaction() as database:
            changing = "UPDATE webhooks SET state = ?, due = ? WHERE job = ?"
            if database.execute(changing, (state, due, webhook.job)).rowcount:
                sent = now - reply.milliseconds / 1000
                values = (webhook.job, webhook.attempt, sent, reply.milliseconds, reply.status, reply.error)
                database.execute("INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?)", values)
        return state

    def secret(self, owner: str) -> str:
        """The secret that signs what is sent for an owner; the first call makes it."""
        with self._database.transaction() as database:
            making = "INSERT INTO webhook_secrets VALUES (?, ?) ON CONFLICT DO NOTHING"
            database.execute(making, (owner, _new_secret()))
            (found,) = database.execute("SELECT secret FROM webhook_secrets WHERE owner = ?", (owner,)).fetchall()
        return found["secret"]

    def replace_secret(self, owner: str) -> str:
        """Make another secret, which signs from now on."""
        secret = _new_secret()
        with self._database.transaction() as database:
            database.execute(_REPLACE_SECRET, (owner, secret))
        return secret


def _new_secret() -> str:
    """In the form of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def _spread(seconds: float) -> float:
    """`seconds`, up to a tenth longer: the receiver gets webhooks that failed together at different times."""
    return seconds * (1 + secrets.randbelow(1000) / 10_000)


_HISTORY = "SELECT attempt, sent, milliseconds, status, error FROM deliveries WHERE job = ? ORDER BY attempt"
_DUE = """
    SELECT job, owner, url, host,
        (SELECT count(*) + 1 FROM deliveries WHERE deliveries.job = webhooks.job) AS attempt
    FROM webhooks JOIN jobs ON jobs.id = webhooks.job
    WHERE state = 'waiting' AND due <= ?{others} ORDER BY due LIMIT 1
"""
_REPLACE_SECRET = """
    INSERT INTO webhook_secrets VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET secret = excluded.secret
"""
