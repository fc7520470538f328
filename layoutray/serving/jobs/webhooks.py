"""Call the webhooks of ended jobs until the ledger has none that is due."""

import asyncio
import logging
import time
from collections.abc import Collection
from typing import Any

from layoutray.serving.jobs.deliveries import Deliveries, DueWebhook
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.ledger_loop import LedgerLoop
from layoutray.serving.jobs.receivers import Receivers, signed
from layoutray.serving.jobs.schema import webhook_event

_AT_ONCE = 4
"""Calls at once, fewer than the threads of the event loop, of which a host name that is looked up takes one. A host has
one call at a time, so that a slow receiver does not stop the others."""
_PAUSE_SECONDS = 60.0
"""How long a host is left alone when an attempt cannot be stored, because the same call would follow at once."""

_log = logging.getLogger(__name__)


class WebhookRunner:
    """Calls webhooks that are due. What is sent has the state and the counts of a job, and no content of documents."""

    def __init__(self, ledger: Ledger, deliveries: Deliveries, receivers: Receivers) -> None:
        self._ledger = ledger
        self._deliveries = deliveries
        self._receivers = receivers
        self._loop = LedgerLoop(lambda: _AT_ONCE, self._next, self._call, lambda webhook: webhook.host, _PAUSE_SECONDS)

    async def run(self) -> None:
        """Call webhooks until cancelled."""
        await self._loop.run()

    async def _next(self, busy: Collection[Any]) -> DueWebhook | None:
        if not await asyncio.to_thread(self._ledger.database.claim):
            return None
        return await asyncio.to_thread(self._deliveries.next, busy)

    async def _call(self, webhook: DueWebhook) -> None:
        found = await asyncio.to_thread(self._ledger.status, webhook.job)
        if found is None:  # deleted a moment ago
            return
        secret = await asyncio.to_thread(self._deliveries.secret, webhook.owner)
        body = webhook_event(found[1]).model_dump_json().encode()
        headers = signed(secret, f"msg_{webhook.job}", int(time.time()), body)
        reply = await self._receivers.call(webhook.url, body, headers)
        state = await asyncio.to_thread(self._deliveries.record, webhook, reply)
        if state == "failed":
            _log.warning("the webhook of job %s was given up after attempt %d", webhook.job, webhook.attempt)
