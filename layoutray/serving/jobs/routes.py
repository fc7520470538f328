"""The HTTP routes of jobs: documents that are answered while the client does not wait."""

import asyncio
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from layoutray.errors import ApiError, InputError
from layoutray.serving import failures, submission
from layoutray.serving.access.audit import AuditRecord
from layoutray.serving.access.auth import Caller, Guard
from layoutray.serving.answerer import DEFAULT
from layoutray.serving.failures import in_database, within
from layoutray.serving.jobs import schema
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.page_ledger import page_results
from layoutray.serving.jobs.prefixes import Prefixes
from layoutray.serving.jobs.receivers import Receivers
from layoutray.serving.jobs.records import DifferentSubmissionError, Job, NoRoomError, Submission
from layoutray.serving.jobs.runner import JobRunner
from layoutray.serving.jobs.schema import (
    JobResponse,
    PrefixRequest,
    WebhookEvent,
    WebhookResponse,
    WebhookSecret,
)
from layoutray.serving.jobs.webhooks import Webhooks
from layoutray.serving.limits import Admission, Limits
from layoutray.serving.request_log import request_id
from layoutray.serving.routes import FieldNames

_LEDGER = "job ledger"
_JSON_LINES = "application/x-ndjson"
_UPLOADS = 4
"""Jobs that may be uploaded at once; each takes disk space for its files twice."""


@dataclass(kw_only=True)
class JobRoutes:
    """The routes of jobs. `runner` is told when there is something new; the ledger alone says what."""

    ledger: Ledger
    runner: JobRunner
    guard: Guard
    limits: Limits
    prefixes: Prefixes
    receivers: Receivers

    def __post_init__(self) -> None:
        self._webhooks = Webhooks(self.ledger, self.receivers)
        self._uploads = Admission(lambda: _UPLOADS)

    def add_to(self, api: FastAPI) -> None:
        errors, job = failures.error_responses(), "/v1/jobs/{job}"
        known = {200: {"model": JobResponse, "description": "a job that was submitted before"}}
        content = {
            "multipart/form-data": {"schema": schema.FORM},
            "application/json": {"schema": PrefixRequest.model_json_schema()},
        }
        body = {"requestBody": {"required": True, "content": content}}
        routes: Sequence[tuple[str, str, Callable[..., Any], Mapping[str, Any]]] = [
            ("/v1/jobs", "POST", self.submit, {"status_code": 202, "openapi_extra": body, "responses": errors | known}),
            (job, "GET", self.status, {}),
            (f"{job}/results", "GET", self.results, {"response_class": StreamingResponse}),
            (f"{job}/deliveries", "GET", self.deliveries, {}),
            (f"{job}/cancel", "POST", self.cancel, {}),
            (job, "DELETE", self.delete, {"status_code": 204}),
            ("/v1/webhook-secret", "GET", self.secret, {"tags": ["webhooks"]}),
            ("/v1/webhook-secret", "POST", self.replace_secret, {"tags": ["webhooks"]}),
        ]
        for path, method, handler, more in routes:
            dependencies = [Depends(self.guard.allow("jobs"))]
            described: dict[str, Any] = {"responses": errors, "tags": ["jobs"], **more}
            api.add_api_route(path, handler, methods=[method], dependencies=dependencies, **described)
        api.webhooks.add_api_route("job-ended", _job_ended, methods=["POST"], tags=["webhooks"])

    async def run(self) -> None:
        await asyncio.gather(self.runner.run(), self._webhooks.run())

    async def submit(
        self,
        request: Request,
        response: Response,
        words: Annotated[bool, Query(description="also return all words of the pages")] = False,
        model: Annotated[
            str | None,
            Query(min_length=1, description="name of the model, one of `GET /v1/models`; the default one if absent"),
        ] = None,
        fields: FieldNames = "",
        idempotency_key: Annotated[
            str | None,
            Header(
                min_length=1, max_length=255, description="a second submission with the same key gives the same job"
            ),
        ] = None,
    ) -> JobResponse:
        """Accept files, or the objects below an address, as a job. It is on the disk before the answer is sent."""
        caller: Caller = request.state.caller
        options: dict[str, Any] = {"words": words} | ({} if model is None else {"model": model})
        options = options | ({"fields": fields} if fields else {})
        wanted = Submission(owner=caller.name, options=options, idempotency_key=idempotency_key)
        async with within(self.limits.timeout_s, "the job", "send fewer files or try again later"):
            await self.runner.require_model(model or DEFAULT, fields)
            with self._uploads.enter(caller.name):
                async with submission.receive_job(request, self.limits, wanted) as received:
                    job, new = await self._add(received)
        self.runner.hint()
        response.status_code = 202 if new else 200
        response.headers["Location"] = f"/v1/jobs/{job}"
        return (await self._own(request, job)).shown

    async def _add(self, wanted: Submission) -> tuple[str, bool]:
        """The id of the job, and whether it is new. Raises ApiError when it cannot be accepted."""
        most = self.limits.max_waiting_documents
        try:
            if wanted.webhook is not None:
                self.receivers.check(wanted.webhook)
            if found := await in_database(_LEDGER, self.ledger.find, wanted):
                return found, False
            if wanted.prefix is not None:
                wanted = replace(wanted, files=await asyncio.to_thread(self.prefixes.files, wanted.prefix, most))
            return await in_database(_LEDGER, self.ledger.add, wanted, most)
        except InputError as error:
            raise failures.invalid(str(error)) from error
        except DifferentSubmissionError as error:
            message = "this Idempotency-Key was used for other files or options; use another, or send the same"
            raise ApiError(409, "idempotency_conflict", message, retryable=False) from error
        except NoRoomError as error:
            message = (
                f"{error.waiting} documents of your jobs wait; with these {len(wanted.files)} they would be more than "
                f"the allowed {most}; try again later"
            )
            raise ApiError(503, "overloaded", message, retryable=True) from error

    async def status(self, request: Request, job: str) -> JobResponse:
        """What is done of a job, and what is left."""
        return (await self._own(request, job)).shown

    async def results(
        self,
        request: Request,
        job: str,
        after: Annotated[
            int, Query(ge=0, le=10**9, description="`number` of the last line that is known; 0 for all results")
        ] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000, description="most documents, or pages")] = 10_000,
        pages: Annotated[bool, Query(description="a line for each page, also of documents that wait")] = False,
    ) -> StreamingResponse:
        """The results so far as JSON lines, in the order in which documents ended; each has `answer` or `error`.

        With `?pages=true` a line is a page, in the order in which pages were answered; it has `entities` and `records`,
        or `error`. Fields come from all pages and are in the lines of documents only. A model that writes reads all
        pages together, so that its pages have no lines.
        """
        await self._own(request, job)
        database = self.ledger.database
        found = page_results(database, job, after, limit) if pages else self.ledger.results(job, after, limit)
        return StreamingResponse(_lines(found), media_type=_JSON_LINES)

    async def deliveries(self, request: Request, job: str) -> WebhookResponse:
        """The webhook of a job, and the attempts to call it."""
        await self._own(request, job)
        webhook = await in_database(_LEDGER, self._webhooks.of_job, job)
        if webhook is None:
            raise ApiError(404, "not_found", f"job {job} has no webhook", retryable=False)
        return webhook

    async def secret(self, request: Request) -> WebhookSecret:
        """The secret that signs the webhooks of the jobs of this key."""
        caller: Caller = request.state.caller
        return WebhookSecret(secret=await in_database(_LEDGER, self._webhooks.secret, caller.name))

    async def replace_secret(self, request: Request) -> WebhookSecret:
        """Make another secret. It signs all that is sent from now on."""
        caller: Caller = request.state.caller
        secret = await in_database(_LEDGER, partial(self._webhooks.secret, caller.name, replace=True))
        return WebhookSecret(secret=secret)

    async def cancel(self, request: Request, job: str) -> JobResponse:
        """Forget the documents that wait; results stay. A job that has ended stays as it is."""
        await self._own(request, job, "cancelled")
        await in_database(_LEDGER, self.ledger.cancel, job)
        return (await self._found(request, job)).shown

    async def delete(self, request: Request, job: str) -> None:
        """Delete a job with its documents and results, also while it runs."""
        await self._own(request, job, "deleted")
        if not await in_database(_LEDGER, self.ledger.delete, job):
            raise _unknown(job)

    async def _own(self, request: Request, job: str, does: str = "read") -> Job:
        """As `_found`; the audit log has what is done with somebody else's job."""
        caller: Caller = request.state.caller
        found = await self._found(request, job)
        if caller.name not in ("", found.owner):
            record = AuditRecord(key=caller.name, path=request.url.path, owner=found.owner, outcome=does)
            record.request_id = request_id(request.headers)
            self.guard.audit.write(record)
        return found

    async def _found(self, request: Request, job: str) -> Job:
        """A job. Raises ApiError (404) when there is no such job, or it is somebody else's."""
        caller: Caller = request.state.caller
        # Others are never looked up: PostgreSQL takes no text with the character NUL.
        found = await in_database(_LEDGER, self.ledger.status, job) if job.isalnum() else None
        if found is None or not (caller.sees_all or found.owner == caller.name):
            raise _unknown(job)
        return found


def _job_ended(body: WebhookEvent) -> None:
    """A job has ended: sent to its webhook, signed as in Standard Webhooks. Answer with a status of 2xx."""


def _lines(results: Generator[Mapping[str, Any]]) -> Generator[str]:
    for result in results:
        yield json.dumps(result, ensure_ascii=False) + "\n"


def _unknown(job: str) -> ApiError:
    message = f"there is no job {job[:64]!r}; it was deleted, its time has passed, or it never was"
    return ApiError(404, "not_found", message, retryable=False)
