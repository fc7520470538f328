"""The card of an EXAMPLES data set: its settings, sources and counts."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from layoutray.errors import DocumentError, InputError
from layoutray.store import folder_kind, shards, sources

CARD = "dataset.json"
"""File name of the card, in the folder of the EXAMPLES data set. `encode` writes it last."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """Settings, sources and counts of an EXAMPLES data set.

    Attributes:
        sources: folders of the data sets that were encoded.
        documents: names of the folders of their documents.
        words: word sources of the pages, such as `annotation` or an OCR engine.
        learnt: how the words of the training pages were made, as `WordSource.to_json` gives it; empty if unknown.
        pages: pages by split. `filtered` of them were refused by a filter and `dead` could not be encoded.
        digest: identity of the content: pages, vocabulary and settings.
        superseded: pages that were left out, because a later data set has their document, too.
        values: expected values of the wanted fields, in all documents.
        partial: documents of which only some values are known, `values_of_partial`. They are in `values`.
        missing: values that occur on no page of their document.
        contradictory: values of a field that may have one value in a document and has several.
        cut: documents that are longer than the model accepts.
        texts_cut: expected texts that are longer than the model generates.
        filtered: refused pages by name of the filter.
    """

    task: str
    max_length: int
    labels: tuple[str, ...]
    sources: tuple[str, ...]
    pages: dict[str, int]
    examples: dict[str, int]
    dead: int
    digest: str
    superseded: int = 0
    values: int = 0
    partial: int = 0
    values_of_partial: int = 0
    missing: int = 0
    contradictory: int = 0
    cut: int = 0
    texts_cut: int = 0
    filtered: dict[str, int] = field(default_factory=dict[str, int])
    documents: tuple[str, ...] = ()
    words: str = ""
    learnt: tuple[dict[str, str], ...] = ()

    @classmethod
    def read(cls, folder: str) -> "Card":
        """Read the card in `folder`. Raises InputError if `folder` is not an EXAMPLES data set."""
        try:
            values: dict[str, Any] = json.loads(sources.read_bytes(sources.join(folder, CARD)))
        except DocumentError as error:
            found = folder_kind.found_at(str(folder)) or f"{CARD} is missing"
            raise InputError(
                f"{folder} is not an EXAMPLES data set: {found}; create one with `layoutray encode`"
            ) from error
        for name in ("labels", "sources", "documents", "learnt"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)

    @property
    def title(self) -> str:
        """What the data is called: the names of its folders of documents."""
        return " and ".join(self.documents or map(sources.name, self.sources))

    def write(self, folder: str) -> None:
        shards.write_bytes(json.dumps(asdict(self), indent=2, sort_keys=True).encode(), folder, CARD)
