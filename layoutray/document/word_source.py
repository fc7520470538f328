"""Where words come from, and how these words differ from those of which a model has learnt."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from layoutray.document.answers import AnswerWarning
from layoutray.document.page import REVIEWED, Page, Provenance

_LIMITS = ("deadline", "max_pages", "max_pixels")
"""Settings that decide whether a page is read, not what is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSource:
    """How the words of pages were made.

    Attributes:
        words: `ocr`, `text_layer` or `annotation`.
        engine, version: of the OCR engine; of an annotation, the engine that it names; else empty.
        settings: settings of recognition as JSON, without limits; empty without OCR.
    """

    words: str
    engine: str = ""
    version: str = ""
    settings: str = ""

    @classmethod
    def of(cls, origin: Provenance) -> Self:
        """The source of a page's words. The words of a page that people have corrected are those that were read."""
        words = origin.words
        if words == REVIEWED:
            words = "ocr" if origin.engine else "text_layer"
        if words != "ocr":
            return cls(words=words, engine=origin.engine if words == "annotation" else "")
        settings = _flat(json.loads(origin.settings or "{}"))
        kept = {name: value for name, value in settings.items() if name not in _LIMITS}
        return cls(words=words, engine=origin.engine, version=origin.version, settings=json.dumps(kept, sort_keys=True))

    @property
    def name(self) -> str:
        return f"{self.engine} {self.version}".strip() or self.words.replace("_", " ")

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def word_sources(pages: Iterable[Page]) -> dict[WordSource, None]:
    """The sources of the words of pages, in order, each once."""
    return dict.fromkeys(WordSource.of(page.provenance) for page in pages if page.words)


def other_words(found: Iterable[WordSource], learnt: Sequence[WordSource]) -> tuple[AnswerWarning, ...]:
    """A warning for each source that is none of those which a model has learnt from; none if these are unknown."""
    return tuple(
        AnswerWarning(code="other_words", message=_difference(source, learnt))
        for source in found
        if learnt and source not in learnt
    )


def _difference(source: WordSource, learnt: Sequence[WordSource]) -> str:
    """What is different about a source, compared with the one that it resembles most."""
    settings = json.loads(source.settings or "{}")
    others = [json.loads(one.settings or "{}") for one in learnt if one.name == source.name]
    if not others:
        names = " and ".join(dict.fromkeys(one.name for one in learnt))
        return f"the model has learnt from words of {names}, and these are of {source.name}: it may be less accurate"
    changes = [
        [
            f"{name} {json.dumps(settings.get(name))} instead of {json.dumps(other.get(name))}"
            for name in sorted(settings | other)
            if settings.get(name) != other.get(name)
        ]
        for other in others
    ]
    told = ", ".join(min(changes, key=len))
    return f"the model has learnt from words of {source.name} with other settings, and may be less accurate: {told}"


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by names such as `settings.detection`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat
