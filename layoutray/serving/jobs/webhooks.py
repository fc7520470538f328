"""Webhooks of jobs: what is to be sent, what was sent, the secrets that sign it, and the calls.

The end of a job makes its webhook due, in the same transaction. It stays due until a receiver has accepted it or all
attempts have failed, also through restarts. One that was accepted just before a kill is sent again, with the same id.
"""

import asyncio
import base64
import logging
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select, update

from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.ledger_loop import LedgerLoop
from layoutray.serving.jobs.receivers import Receivers, Reply, signed
from layoutray.serving.jobs.schema import DeliveryResponse, WebhookEvent, WebhookResponse, WebhookState
from layoutray.serving.jobs.tables import DELIVERIES, JOBS, WEBHOOK_SECRETS, WEBHOOKS

DELAYS = (5.0, 30.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0)
"""Seconds from a failed attempt to the next one."""
_SECRET_BYTES = 32
_AT_ONCE = 4
"""Calls at once, fewer than the threads of the event loop, of which a host name that is looked up takes one. A host has
one call at a time, so that a slow receiver does not stop the others."""
_PAUSE_SECONDS = 60.0
"""How long a host is left alone when an attempt cannot be stored, because the same call would follow at once."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWebhook:
    """A webhook that is to be called now.

    Attributes:
        attempt: number of this attempt, from 1.
    """

    job: str
    owner: str
    url: str
    host: str
    attempt: int


class Webhooks(LedgerLoop[DueWebhook]):
    """The webhooks in a ledger, whose clock says what is due, and the loop that calls them.

    What is sent has the state and the counts of a job, and no content of documents.
    """

    def __init__(self, ledger: Ledger, receivers: Receivers) -> None:
        super().__init__(ledger.database, lambda: _AT_ONCE, _PAUSE_SECONDS)
        self._ledger = ledger
        self._receivers = receivers

    def of_job(self, job: str) -> WebhookResponse | None:
        columns = [DELIVERIES.c[name] for name in DeliveryResponse.model_fields]
        attempts = select(*columns).where(DELIVERIES.c.job == job).order_by(DELIVERIES.c.attempt)
        rows = self._database.rows(select(WEBHOOKS).where(WEBHOOKS.c.job == job))
        if not rows:
            return None
        deliveries = [DeliveryResponse(**row) for row in self._database.rows(attempts)]
        return WebhookResponse(url=rows[0]["url"], state=rows[0]["state"], next=rows[0]["due"], deliveries=deliveries)

    def take(self, started: Collection[str]) -> DueWebhook | None:
        """The webhook that is due for the longest time, except those at the hosts `started`."""
        attempts = select(func.count() + 1).where(DELIVERIES.c.job == WEBHOOKS.c.job).scalar_subquery()
        columns = (WEBHOOKS.c.job, JOBS.c.owner, WEBHOOKS.c.url, WEBHOOKS.c.host, attempts.label("attempt"))
        due = (WEBHOOKS.c.state == "waiting", WEBHOOKS.c.due <= self._ledger.now(), WEBHOOKS.c.host.not_in(started))
        rows = self._database.rows(
            select(*columns).join_from(WEBHOOKS, JOBS).where(*due).order_by(WEBHOOKS.c.due).limit(1)
        )
        return DueWebhook(**rows[0]) if rows else None

    def record(self, webhook: DueWebhook, reply: Reply) -> WebhookState:
        """Store an attempt that has just ended. Returns what becomes of the webhook, which may be deleted by now."""
        state: WebhookState = "waiting"
        if reply.error is None:
            state = "delivered"
        elif reply.final or webhook.attempt > len(DELAYS):
            state = "failed"
        now = self._ledger.now()
        # The delay is up to a tenth longer: the receiver gets webhooks that failed together at different times.
        spread = 1 + secrets.randbelow(1000) / 10_000
        due = now + DELAYS[webhook.attempt - 1] * spread if state == "waiting" else None
        changing = update(WEBHOOKS).where(WEBHOOKS.c.job == webhook.job).values(state=state, due=due)
        sent = {"job": webhook.job, "attempt": webhook.attempt, "sent": now - reply.milliseconds / 1000}
        got = {"milliseconds": reply.milliseconds, "status": reply.status, "error": reply.error}
        with self._database.transaction() as connection:
            if connection.execute(changing).rowcount:
                connection.execute(insert(DELIVERIES).values(sent | got))
        return state

    def secret(self, owner: str, *, replace: bool = False) -> str:
        """The secret that signs what is sent for an owner; the first call makes it, and so does one that replaces it.

        It has the form of Standard Webhooks.
        """
        of_owner = WEBHOOK_SECRETS.c.owner == owner
        with self._database.transaction() as connection:
            if replace:
                connection.execute(delete(WEBHOOK_SECRETS).where(of_owner))
            secret = connection.scalar(select(WEBHOOK_SECRETS.c.secret).where(of_owner))
            if secret is None:
                secret = "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
                connection.execute(insert(WEBHOOK_SECRETS).values(owner=owner, secret=secret))
        return secret

    def key(self, item: DueWebhook) -> str:
        return item.host

    async def process(self, item: DueWebhook) -> None:
        job = await asyncio.to_thread(self._ledger.status, item.job)
        if job is None:  # deleted a moment ago
            return
        secret = await asyncio.to_thread(self.secret, item.owner)
        event = {"type": f"job.{job.shown.state}", "timestamp": job.shown.ended, "data": job.shown}
        body = WebhookEvent.model_validate(event).model_dump_json().encode()
        headers = signed(secret, f"msg_{item.job}", int(time.time()), body)
        reply = await self._receivers.call(item.url, body, headers)
        state = await asyncio.to_thread(self.record, item, reply)
        if state == "failed":
            _log.warning("the webhook of job %s was given up after attempt %d", item.job, item.attempt)
