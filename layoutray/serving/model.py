"""One version of the served model: load it, try it on a page, and describe it. What cannot be served is refused."""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import psutil
import torch

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint, Fetch
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.field_type import FieldType
from layoutray.document.record_type import RecordType
from layoutray.document.word_source import WordSource
from layoutray.errors import InputError
from layoutray.inference.by_name import NamedExtractor
from layoutray.inference.extractor import Extractor
from layoutray.inference.generation import TextGenerator
from layoutray.serving import failures, submission
from layoutray.serving.limits import Limits
from layoutray.serving.schema import RefusalCode, ServedPath, TriedOn
from layoutray.store import sources
from layoutray.tasks import LabelsPages, ReadsNames, WritesTexts
from layoutray.tasks.field_names import asked_fields

_WEIGHTS = "model.safetensors"
_GENERATED_PAGE = Page(
    doc_id="",
    number=1,
    width=100,
    height=100,
    words=(Word(text="1", box=Box(0.1, 0.1, 0.2, 0.2)),),
    source="",
    image="",
    split="",
    provenance=Provenance(words="annotation", reason="made up"),
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the model, not yet loaded.

    Attributes:
        checkpoint: the name of its checkpoint, which always means the same one, as `Fetch` takes it.
        label: how answers state it; empty: the checkpoint's own version.
        name: under which its model is served; empty for the default model.
    """

    checkpoint: str
    label: str
    name: str = ""


class VersionError(Exception):
    """A version cannot be served. Replicas return it as a value: it goes from process to process.

    Args:
        message: why, without internal details; those are in the log.
    """

    def __init__(self, version: Version, code: RefusalCode, message: str) -> None:
        super().__init__(version, code, message)
        self.version = version
        self.code: RefusalCode = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.version.checkpoint}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDescription:
    """A version of the model that replicas have loaded.

    Attributes:
        model_id: as answers state it: the name under which the model is served; of the default model, the name of its
            recipe.
        path: where the endpoint serves it, if it is the default model.
        writes: whether it reads whole documents and generates text (fields or a summary).
        explains: whether it can return the selected words.
        by_name: whether it answers the fields that a request names, see `asking`.
        labels_pages: whether it finds the documents of packets, see `serving.router`.
        learnt: how the words were made of which it has learnt; empty if unknown.
        thresholds: of versions with the same confidences, by version and field, see `Checkpoint.thresholds`.
        reference: what its labelled documents were like, as `Reference.to_json` gives it; None if nothing says it.
    """

    version: Version
    model_id: str
    model_version: str
    task: str
    path: ServedPath
    writes: bool
    entity_types: tuple[str, ...]
    fields: Mapping[str, FieldType]
    records: Mapping[str, RecordType]
    explains: bool
    tried_on: TriedOn
    by_name: bool = False
    labels_pages: bool = False
    learnt: tuple[WordSource, ...] = ()
    thresholds: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict[str, Mapping[str, float | None]])
    reference: Mapping[str, Any] | None = None

    def asking(self, fields: str) -> Self:
        """The model as it answers the fields that a request names, as `tasks.field_names` reads them; empty for none.

        Raises:
            ApiError: 422 when the model needs names and gets none that it can read, or has fields of its own.
        """
        if not self.by_name:
            if fields:
                own = ", ".join(self.fields) or "none"
                raise failures.invalid(
                    f"fields: {self.model_id} answers fields of its own ({own}); leave `fields` out, or ask a model of "
                    "task fields_by_name"
                )
            return self
        try:
            return replace(self, fields=asked_fields(fields))
        except InputError as error:
            raise failures.invalid(f"fields: {error}") from error

    @property
    def served_at(self) -> str:
        name = self.version.name
        return self.path.replace("/v1/", f"/v1/models/{name}/") if name else self.path


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model of an endpoint.

    Attributes:
        description: of the served version; None until a request has asked for the model.
        refusal: why the version that is to be served is not; None if it is.
    """

    description: ModelDescription | None
    refusal: VersionError | None = None


@dataclass(frozen=True, slots=True)
class LoadedVersion:
    """A version in memory, the pages on which it was tried, and the bytes of its weights."""

    model: Extractor | TextGenerator
    description: ModelDescription
    example: Sequence[Page]
    weights: int

    def answer_example(self) -> None:
        """Raise an exception when the model cannot answer the example, or answers it with invalid confidences."""
        if isinstance(self.model, Extractor):
            confidences = [found.confidence for entities in self.model.extract(self.example) for found in entities]
        else:
            confidences = [line.probability for text in self.model.write([self.example]) for line in text.lines]
        invalid = [confidence for confidence in confidences if not 0 <= confidence <= 1]
        if invalid:
            raise ValueError(f"the model answers its example with confidence {invalid[0]}; it must be from 0 to 1")


def load_model(loaded: Checkpoint, beams: int, device: torch.device) -> Extractor | TextGenerator:
    """The model, for inference on `device`. Raises CheckpointError when the checkpoint was only pretrained."""
    if isinstance(loaded.recipe.task, WritesTexts):
        return TextGenerator(loaded, device, beams)
    if isinstance(loaded.recipe.task, ReadsNames):
        return NamedExtractor(loaded, loaded.recipe.name, device)
    return Extractor(loaded, loaded.recipe.name, device)


def served_path(model: Extractor | TextGenerator) -> ServedPath:
    """Path at which the endpoint serves `model`."""
    return "/v1/extract" if isinstance(model, Extractor) or model.fields else "/v1/summarize"


def free_memory() -> int:
    """Bytes that a process of this machine may still take. The limit of a container is not considered."""
    return psutil.virtual_memory().available


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads versions into the memory of this process.

    Attributes:
        fetch: gives the folder of a checkpoint in this process.
        beams: beam width of a model that generates text.
        free: gives the bytes of memory that are free.
    """

    device: torch.device
    fetch: Fetch = str
    beams: int = 1
    free: Callable[[], int] = free_memory

    def load(self, version: Version) -> LoadedVersion:
        """Load a version and answer its example once, so that no request waits for what the first run prepares.

        The example is that of the checkpoint (`checkpoint.EXAMPLE`), else a generated page of one word.

        Raises:
            VersionError: `too_large` when its weights do not fit into the free memory, `broken` when it cannot be
                loaded or cannot answer the example.
        """
        with _broken_unless_loaded(version):
            folder = self.fetch(version.checkpoint)
            weights = weights_bytes(folder)
            self._require_memory(version, weights)
            loaded = checkpoint.load(folder)
            for name, tensor in loaded.model.state_dict().items():
                if tensor.is_floating_point() and not tensor.isfinite().all():
                    raise ValueError(f"tensor {name} has values that are not finite")
            model = load_model(loaded, self.beams, self.device)
            own = checkpoint.read_example(folder)
            example = (_GENERATED_PAGE,) if own is None else submission.word_pages(own, Limits()).pages
            description = _describe(version, loaded, model, "a generated page" if own is None else "its own example")
            ready = LoadedVersion(model, description, example, weights)
            ready.answer_example()
            return ready

    def weights(self, version: Version) -> int:
        """Bytes of the weights of a version that is not loaded. Raises VersionError (`broken`) if it cannot be read."""
        with _broken_unless_loaded(version):
            return weights_bytes(self.fetch(version.checkpoint))

    def _require_memory(self, version: Version, weights: int) -> None:
        """Raise VersionError unless the weights fit twice into free memory, and once into that of a GPU.

        They are read from their file beside the fresh model that takes them.
        """
        kinds = {"memory": (2 * weights, self.free())}
        if self.device.type == "cuda":
            kinds["GPU memory"] = weights, torch.cuda.mem_get_info(self.device)[0]
        for kind, (needed, available) in kinds.items():
            if needed > available:
                message = f"it needs {needed / 2**20:.0f} MiB of {kind}, and {available / 2**20:.0f} MiB are free"
                _log.error("%s is too large: %s", version.checkpoint, message)
                raise VersionError(version, "too_large", message)


def weights_bytes(folder: str) -> int:
    """Bytes of the weights of the checkpoint in `folder`."""
    return sum(size for _, size in sources.sizes(sources.join(folder, _WEIGHTS)))


@contextmanager
def _broken_unless_loaded(version: Version) -> Generator[None]:
    """Raise VersionError (`broken`) for any other exception in the `with` block."""
    try:
        yield
    except VersionError:
        raise
    except Exception as error:
        _log.exception("%s cannot be served", version.checkpoint)
        message = f"it cannot be loaded and tried ({type(error).__name__}); the log of the endpoint says why"
        raise VersionError(version, "broken", message) from error


def _describe(
    version: Version, loaded: Checkpoint, model: Extractor | TextGenerator, tried_on: TriedOn
) -> ModelDescription:
    writes = isinstance(model, TextGenerator)
    return ModelDescription(
        version=version,
        model_id=version.name or model.model_id,
        model_version=version.label or model.model_version,
        task=loaded.recipe.task.name,
        path=served_path(model),
        writes=writes,
        entity_types=() if writes else model.entity_types,
        fields=model.fields,
        records={} if writes else model.records,
        explains=writes and model.shows_selection,
        tried_on=tried_on,
        by_name=isinstance(model, NamedExtractor),
        labels_pages=isinstance(loaded.recipe.task, LabelsPages),
        learnt=loaded.learnt,
        thresholds=loaded.thresholds(version.label),
        reference=loaded.provenance.get("documents"),
    )
