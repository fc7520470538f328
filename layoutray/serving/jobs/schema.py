"""Request and response bodies of jobs; the OpenAPI document is made from them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

WebhookState = Literal["waiting", "delivered", "failed"]

_WEBHOOK = "URL that is called when the job has ended; the operator allows its host"
FORM = {
    "type": "object",
    "required": ["file"],
    "additionalProperties": False,
    "properties": {
        "file": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
        "webhook": {"type": "string", "format": "uri", "description": _WEBHOOK},
    },
}
"""JSON schema of the form with the files of a job."""


class PrefixRequest(BaseModel):
    """A job of the objects below an address in a bucket. Each is read when it is opened, and when it is answered."""

    model_config = ConfigDict(extra="forbid")

    prefix: str = Field(
        min_length=1,
        max_length=2048,
        description="address of a folder that the operator allows, with special characters escaped",
        examples=["s3://bucket/scans/2026"],
    )
    webhook: str | None = Field(default=None, description=_WEBHOOK)


class DocumentCounts(BaseModel):
    """Different documents of a job by state. Files with the same content are one document."""

    waiting: int
    answered: int
    failed: int
    cancelled: int


class PageCounts(BaseModel):
    """Pages of a job. All documents are opened before any is answered, so that the counts are known early."""

    done: int = Field(description="that are answered, and those of documents that failed")
    left: int = Field(description="of documents that wait and are opened")


class JobResponse(BaseModel):
    """A job."""

    id: str
    state: Literal["running", "done", "cancelled"]
    model: str | None = Field(default=None, description="name of the model that answers; null for the default one")
    files: int
    documents: DocumentCounts
    pages: PageCounts
    unopened: int = Field(description="documents that wait and whose number of pages is not known yet")
    created: datetime
    ended: datetime | None = Field(description="null while the job runs")


class DeliveryResponse(BaseModel):
    """An attempt to call a webhook."""

    attempt: int
    sent: datetime
    milliseconds: float = Field(description="until the receiver answered, or the attempt failed")
    status: int | None = Field(description="HTTP status of the answer; null without an answer")
    error: str | None = Field(description="why the attempt failed; null if it did not")


class WebhookResponse(BaseModel):
    """The webhook of a job, and what was sent."""

    url: str
    state: WebhookState = Field(description="`failed` after the last attempt")
    next: datetime | None = Field(description="time of the next attempt; null while the job runs, and without one")
    deliveries: list[DeliveryResponse] = Field(description="in the order of the attempts")


class WebhookSecret(BaseModel):
    """The secret of a key. It signs the webhooks of all jobs of the key."""

    secret: str = Field(
        description="`whsec_` and 32 bytes in base64", examples=["whsec_YW4gZXhhbXBsZSBvZiB0aGlydHktdHdvIGJ5dGVzLi4="]
    )


class WebhookEvent(BaseModel):
    """What is sent when a job has ended. Headers `webhook-id`, `webhook-timestamp` and `webhook-signature` sign it."""

    type: Literal["job.done", "job.cancelled"]
    timestamp: datetime = Field(description="end of the job")
    data: JobResponse
