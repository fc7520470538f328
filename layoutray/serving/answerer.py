"""What answers documents: the port behind the HTTP routes, the jobs, the review page and MLflow.

`in_process` answers in this process, `cluster.endpoint.service` on Ray.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from layoutray.errors import ApiError
from layoutray.serving.answer import DocumentAnswer
from layoutray.serving.model import ModelDescription, ModelState
from layoutray.serving.submission import UploadedFile, WordPages

DEFAULT = ""
"""Name of the default model."""

Admit = Callable[[int], Awaitable[None]]
"""Called with the number of pages of a document before they are processed. It may raise ApiError."""
Model = TypeVar("Model")


async def admit_all(_: int) -> None:
    """Any number of pages may be processed."""


class Answerer(Protocol):
    """Answers documents with the models that it has."""

    def models(self) -> Mapping[str, ModelState]:
        """The models by name, the default one first. Loads none."""
        ...

    async def model(self, name: str = DEFAULT) -> ModelDescription:
        """The served version of a model, which is loaded if it was not.

        Raises:
            ApiError: 404 when there is no such model, 503 when it cannot be loaded, or nothing answers.
        """
        ...

    async def check(self) -> ModelDescription:
        """The served version of the default model, which answers now. Raises ApiError (503) when it does not."""
        ...

    async def count_pages(self, file: UploadedFile, owner: str = "") -> int:
        """The number of pages of a file. Raises ApiError when it cannot be opened."""
        ...

    async def answer(
        self,
        document: UploadedFile | WordPages,
        model: ModelDescription,
        admit: Admit = admit_all,
        *,
        owner: str = "",
        explain: bool = False,
    ) -> DocumentAnswer:
        """The answer to a document, from a version that `model` has given. Pages that failed are left out.

        Args:
            owner: whose share of the replicas it takes: the name of a key.
            explain: whether a summary also has the words behind the pooled states, of a model that `explains`.

        Raises:
            ApiError: that of `admit`; when all pages failed (the first page's error), or when the model failed on the
                whole document.
        """
        ...


def named(models: Mapping[str, Model], name: str) -> Model:
    """The model with this name. Raises ApiError (404) when there is none."""
    if name not in models:
        known = ", ".join(filter(None, models)) or "none but the default one"
        message = f"there is no model {name[:64]!r}; models with a name: {known}"
        raise ApiError(404, "unknown_model", message)
    return models[name]
