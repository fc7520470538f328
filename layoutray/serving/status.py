"""Response bodies that say which models are served and how the endpoint is."""

from typing import Literal

from pydantic import Field

from layoutray.serving.schema import Body, RefusalCode, TriedOn


class ModelResponse(Body):
    """A served model."""

    model_id: str
    model_version: str | None = Field(
        default=None, description="null, as path and tried_on, until a request asks for the model"
    )
    path: str | None = Field(default=None, description="path that accepts documents")
    entity_types: list[str] = Field(default=[], description="empty for a model without entity types")
    tried_on: TriedOn | None = Field(default=None, description="what it answered before it was served")


class ModelsResponse(Body):
    """All served models."""

    models: list[ModelResponse] = Field(description="the default model is the first one")


class RefusedVersion(Body):
    """The version that the alias names, and why it is not served."""

    model_version: str
    code: RefusalCode
    message: str


class ModelHealth(Body):
    """The state of a model that is not the default one."""

    model_version: str | None = Field(default=None, description="the served version; absent until it was loaded once")
    refused: RefusedVersion | None = Field(default=None, description="only if the wanted version is not served")


class LiveResponse(Body):
    """The endpoint is alive."""

    status: Literal["ok"] = "ok"


class HealthResponse(Body):
    """The endpoint is ready."""

    status: Literal["ok"] = "ok"
    model_version: str = Field(description="the served version")
    refused: RefusedVersion | None = Field(
        default=None, description="only if the alias that is followed names a version that cannot be served"
    )
    models: dict[str, ModelHealth] | None = Field(
        default=None, description="the models that are not the default one, by name; only if there are any"
    )
