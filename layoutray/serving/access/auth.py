"""Who may send a request: a FastAPI dependency for each path, and the caller whom it finds."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from layoutray.errors import ApiError
from layoutray.serving.access import keys
from layoutray.serving.access.audit import AuditLog, AuditRecord
from layoutray.serving.access.keys import Key, KeyStore, Scope
from layoutray.serving.failures import in_database
from layoutray.serving.model import ModelDescription
from layoutray.serving.request_log import request_id
from layoutray.serving.telemetry import Telemetry

Check = Callable[..., Awaitable[None]]

_KEYS = "key file"
_BEARER = HTTPBearer(auto_error=False, description="a key made by `layoutray keys create`")


class Caller:
    """Who sent a request. This one is anonymous and has no limits."""

    name = ""
    owner = ""
    """Whose documents the caller sees on the review page, and sends to it."""
    sees_all = True
    """Whether the caller may see the jobs and documents of others."""

    async def take_pages(self, pages: int) -> None:
        """Count pages that are about to be processed. Raises ApiError (429) when the key has too few left today."""

    async def return_pages(self) -> None:
        """Take back the count of `take_pages`: the pages were not answered, and the caller is not the cause."""


@dataclass(frozen=True)
class Guard:
    """Decides who may send requests, and has the log of what they did. This one lets everybody pass."""

    audit: AuditLog
    needs_key = False

    def allow(self, *_: Scope) -> Check:
        """A dependency that lets callers with one of the scopes pass. It raises ApiError: 401, 403 or 429."""

        async def check(request: Request) -> None:
            request.state.caller = Caller()

        return check

    async def holder(self, name: str, pages: int = 0) -> Caller:
        """The caller with this name, for whom work goes on after the request; also if the key is revoked now.

        Args:
            pages: that were counted before, and may be returned: to the quota of today, as their day is not kept.
        """
        return Caller()

    async def caller(self, key: str, *scopes: Scope) -> Caller:
        """The caller with the key of this text. Raises ApiError: 401, 403 or 429."""
        return Caller()

    async def admit(self, name: str, path: str) -> bool:
        """Whether the key with this name was not revoked. Counts a request at `path`; raises ApiError (429)."""
        return True


@dataclass(frozen=True)
class KeyGuard(Guard):
    """Lets holders of a valid key pass, within the limits of the key."""

    store: KeyStore
    telemetry: Telemetry
    needs_key = True

    def allow(self, *scopes: Scope) -> Check:
        async def check(
            request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
        ) -> None:
            text = credentials.credentials if credentials else ""
            request.state.caller = await self._caller(text, request.url.path, request_id(request.headers), scopes)

        return check

    async def caller(self, key: str, *scopes: Scope) -> Caller:
        return await self._caller(key, "/", "", scopes)

    async def admit(self, name: str, path: str) -> bool:
        key = await in_database(_KEYS, self.store.named, name)
        if key is None or key.revoked is not None:
            return False
        with self._noting_refusals(name, path):
            await self._take_request(key, ("review",))
        return True

    async def holder(self, name: str, pages: int = 0) -> Caller:
        """The holder of the key with this name; without limits for a job that was sent before there were keys."""
        key = await in_database(_KEYS, self.store.named, name)
        return KeyHolder(key, self.store, pages) if key else Caller()

    async def _caller(self, text: str, path: str, request: str, scopes: tuple[Scope, ...]) -> Caller:
        """The caller with the key `text`; `request` is the id of the request for the audit log."""
        with self._noting_refusals("", path, request):
            key = await self._key(text)
        with self._noting_refusals(key.name, path, request):
            await self._take_request(key, scopes)
        return KeyHolder(key, self.store)

    @contextmanager
    def _noting_refusals(self, name: str, path: str, request: str = "") -> Generator[None]:
        try:
            yield
        except ApiError as refusal:
            self.telemetry.refused(refusal)
            self.audit.write(AuditRecord(key=name, path=path, request_id=request, outcome=refusal.code))
            raise

    async def _key(self, text: str) -> Key:
        if not text:
            message = "the request has no key; send the header `Authorization: Bearer KEY`"
            raise _challenge(401, "no_key", message, "")
        key = await in_database(_KEYS, self.store.find, text)
        if key is None:
            message = "there is no such key, or it was revoked; ask the operator of the endpoint for another"
            raise _challenge(401, "invalid_key", message, ', error="invalid_token"')
        return key

    async def _take_request(self, key: Key, scopes: tuple[Scope, ...]) -> None:
        if not key.may(scopes):
            message = f"key {key.name} has the scopes {', '.join(key.scopes)}; this path needs {' or '.join(scopes)}"
            raise _challenge(403, "missing_scope", message, f', error="insufficient_scope", scope="{" ".join(scopes)}"')
        wait = await in_database(_KEYS, self.store.take_request, key)
        if wait:
            message = f"key {key.name} may send {key.requests_per_minute} requests per minute"
            raise _later("rate_limited", message, wait)


class KeyHolder(Caller):
    """The holder of a key."""

    def __init__(self, key: Key, store: KeyStore, pages: int = 0) -> None:
        self.name, self.owner = key.name, key.owner
        self.sees_all = "admin" in key.scopes
        self._key = key
        self._store = store
        self._taken = (pages, keys.today())

    async def take_pages(self, pages: int) -> None:
        day = keys.today()
        left = await in_database(_KEYS, self._store.take_pages, self._key, pages, day)
        if left is not None:
            message = (
                f"the document has {pages} pages; key {self.name} has {left} of its {self._key.pages_per_day} pages "
                "per day left; the day begins at midnight UTC"
            )
            raise _later("quota_exceeded", message, keys.seconds_until_tomorrow())
        self._taken = (pages, day)

    async def return_pages(self) -> None:
        pages, day = self._taken
        if pages:
            await in_database(_KEYS, self._store.return_pages, self._key, pages, day)


def make_guard(key_file: str, audit_file: str, telemetry: Telemetry) -> Guard:
    """The guard with the keys in `key_file`; of everybody if it is empty. Raises InputError: see `open_database`."""
    audit = AuditLog(audit_file)
    return KeyGuard(audit, KeyStore.open(key_file), telemetry) if key_file else Guard(audit)


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a document: its caller, and its line in the audit log."""

    caller: Caller
    record: AuditRecord

    def asks(self, document: str, model: ModelDescription) -> None:
        """Note which document the request sends, and which model answers."""
        self.record.document = document
        self.record.model, self.record.model_version = model.model_id, model.model_version

    async def admit(self, pages: int) -> None:
        """Note and count the pages of the document. Raises ApiError: see `Caller.take_pages`."""
        self.record.pages = pages
        await self.caller.take_pages(pages)


@asynccontextmanager
async def returned_on_failure(caller: Caller) -> AsyncGenerator[None]:
    """Take back the count of pages when the `with` block fails with a status from 500, but not after a timeout.

    What has timed out was computed for a part at least. Otherwise who sends what takes too long would never pay.
    """
    try:
        yield
    except ApiError as failure:
        if failure.status >= 500 and failure.status != 504:
            await caller.return_pages()
        raise


def _challenge(status: int, code: str, message: str, details: str) -> ApiError:
    """A refusal of a key, with the header of RFC 6750."""
    headers = {"WWW-Authenticate": f'Bearer realm="layoutray"{details}'}
    return ApiError(status, code, message, headers=headers)


def _later(code: str, message: str, seconds: float) -> ApiError:
    """A refusal that ends after `seconds`."""
    return ApiError(429, code, message, retryable=True, headers={"Retry-After": str(math.ceil(seconds))})
