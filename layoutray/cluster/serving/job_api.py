"""The HTTP routes of jobs: documents that are answered while the client does not wait."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from layoutray.cluster.serving import failures, submission
from layoutray.cluster.serving.auth import Access, Caller
from layoutray.cluster.serving.failures import ApiError, in_database, within
from layoutray.cluster.serving.jobs import JobRunner
from layoutray.cluster.serving.ledger import DifferentSubmissionError, JobFile, JobStatus, Ledger
from layoutray.cluster.serving.limits import Admission, Limits

_LEDGER = "job ledger"
_JSON_LINES = "application/x-ndjson"
_UPLOADS = 4
"""Jobs that may be uploaded at once; each takes disk space for its files twice."""
_FILES = {
    "type": "object",
    "required": ["file"],
    "additionalProperties": False,
    "properties": {"file": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}},
}


class DocumentCounts(BaseModel):
    """Different documents of a job by state. Files with the same content are one document."""

    waiting: int
    answered: int
    failed: int
    cancelled: int


class PageCounts(BaseModel):
    """Pages of a job. Documents are opened before any is answered, so that the pages left are soon known."""

    done: int = Field(description="of documents that are answered or failed")
    left: int = Field(description="of documents that wait and are opened")


class JobResponse(BaseModel):
    """A job."""

    id: str
    state: Literal["running", "done", "cancelled"]
    files: int
    documents: DocumentCounts
    pages: PageCounts
    unopened: int = Field(description="documents that wait and whose number of pages is not known yet")
    created: datetime
    ended: datetime | None = Field(description="null while the job runs")


class JobRoutes:
    """The routes of jobs.

    Args:
        runner: told when there is something new; the ledger alone says what.
    """

    def __init__(self, ledger: Ledger, runner: JobRunner, access: Access, limits: Limits) -> None:
        self._ledger = ledger
        self._runner = runner
        self._access = access
        self._limits = limits
        self._uploads = Admission(_UPLOADS)

    def add_to(self, api: FastAPI) -> None:
        """Add the routes to `api`. Once it has started, jobs are processed until it stops."""
        errors, job = failures.error_responses(), "/v1/jobs/{job}"
        known = {200: {"model": JobResponse, "description": "a job that was submitted before"}}
        body = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FILES}}}}
        routes: Sequence[tuple[str, str, Callable[..., Any], Mapping[str, Any]]] = [
            ("/v1/jobs", "POST", self.submit, {"status_code": 202, "openapi_extra": body, "responses": errors | known}),
            (job, "GET", self.status, {}),
            (f"{job}/results", "GET", self.results, {"response_class": StreamingResponse}),
            (f"{job}/cancel", "POST", self.cancel, {}),
            (job, "DELETE", self.delete, {"status_code": 204}),
        ]
        for path, method, handler, more in routes:
            dependencies = [Depends(self._access.guard.allow("jobs"))]
            described = {"responses": errors, **more}
            api.add_api_route(path, handler, methods=[method], dependencies=dependencies, **described)
        api.router.lifespan_context = self._lifespan

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncGenerator[None]:
        task = asyncio.create_task(self._runner.run())
        try:
            yield
        finally:
            task.cancel()

    async def submit(
        self,
        request: Request,
        response: Response,
        words: Annotated[bool, Query(description="also return all words of the pages")] = False,
        idempotency_key: Annotated[
            str | None,
            Header(
                min_length=1, max_length=255, description="a second submission with the same key gives the same job"
            ),
        ] = None,
    ) -> JobResponse:
        """Accept files as a job. It is stored on the disk before the answer is sent."""
        caller: Caller = request.state.caller
        async with within(self._limits.timeout_s):
            with self._uploads.enter():
                async with submission.receive_job(request, self._limits) as files:
                    job, new = await self._add(caller.name, files, {"words": words}, idempotency_key)
        self._runner.hint()
        response.status_code = 202 if new else 200
        response.headers["Location"] = f"/v1/jobs/{job}"
        return await self._shown(job)

    async def _add(
        self, owner: str, files: Sequence[JobFile], options: Mapping[str, Any], idempotency_key: str | None
    ) -> tuple[str, bool]:
        waiting = await in_database(_LEDGER, self._ledger.num_waiting)
        if waiting + len(files) > self._limits.max_waiting_documents:
            message = (
                f"{waiting} documents of jobs wait; with these {len(files)} they would be more than the allowed "
                f"{self._limits.max_waiting_documents}; try again later"
            )
            raise ApiError(503, "overloaded", message, retryable=True)
        content = json.dumps([[file.name, file.doc_id] for file in files] + [options])
        fingerprint = hashlib.sha256(content.encode()).hexdigest()
        try:
            return await in_database(_LEDGER, self._ledger.add, owner, files, options, fingerprint, idempotency_key)
        except DifferentSubmissionError as error:
            message = "this Idempotency-Key was used for other files or options; use another, or send the same"
            raise ApiError(409, "idempotency_conflict", message, retryable=False) from error

    async def status(self, request: Request, job: str) -> JobResponse:
        """What is done of a job, and what is left."""
        await self._own(request, job)
        return await self._shown(job)

    async def results(
        self,
        request: Request,
        job: str,
        after: Annotated[
            int, Query(ge=0, le=10**9, description="`number` of the last line that is known; 0 for all results")
        ] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000, description="most documents")] = 10_000,
    ) -> StreamingResponse:
        """The results so far as JSON lines, in the order in which documents ended; each has `answer` or `error`."""
        await self._own(request, job)
        return StreamingResponse(_lines(self._ledger.results(job, after, limit)), media_type=_JSON_LINES)

    async def cancel(self, request: Request, job: str) -> JobResponse:
        """Forget the documents that wait; results stay. A job that has ended stays as it is."""
        await self._own(request, job)
        await in_database(_LEDGER, self._ledger.cancel, job)
        return await self._shown(job)

    async def delete(self, request: Request, job: str) -> None:
        """Delete a job with its documents and results, also while it runs."""
        await self._own(request, job)
        if not await in_database(_LEDGER, self._ledger.delete, job):
            raise _unknown(job)

    async def _own(self, request: Request, job: str) -> None:
        """Raises ApiError (404) when there is no such job, or it is somebody else's."""
        caller: Caller = request.state.caller
        found = await in_database(_LEDGER, self._ledger.status, job)
        if found is None or not (caller.sees_all or found[0] == caller.name):
            raise _unknown(job)

    async def _shown(self, job: str) -> JobResponse:
        found = await in_database(_LEDGER, self._ledger.status, job)
        if found is None:  # deleted a moment ago
            raise _unknown(job)
        return _response(found[1])


def _response(status: JobStatus) -> JobResponse:
    return JobResponse(
        id=status.id,
        state=status.state,
        files=status.files,
        documents=DocumentCounts.model_validate(status.documents),
        pages=PageCounts(done=status.pages_done, left=status.pages_left),
        unopened=status.unopened,
        created=datetime.fromtimestamp(status.created, UTC),
        ended=None if status.ended is None else datetime.fromtimestamp(status.ended, UTC),
    )


def _lines(results: Generator[Mapping[str, Any]]) -> Generator[str]:
    for result in results:
        yield json.dumps(result, ensure_ascii=False) + "\n"


def _unknown(job: str) -> ApiError:
    message = f"there is no job {job[:64]!r}; it was deleted, its time has passed, or it never was"
    return ApiError(404, "not_found", message, retryable=False)
