"""The card beside an EXAMPLES data set: how it was made, and what it holds."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from layoutray.errors import DocumentError, InputError
from layoutray.store import shards, sources

CARD = "dataset.json"
"""File beside the shards of an EXAMPLES data set that says how it was made."""


@dataclass(frozen=True)
class Card:
    """How an EXAMPLES data set was made.

    Attributes:
        labels: names of the model's outputs.
        pages, examples: counts by split. Of the pages, `filtered` counts those that a filter refused, by its name, and `dead` those that
            could not be encoded; all others are encoded.
        digest: identity of the content: pages, vocabulary and settings.
        values: of wanted fields, in all documents; `missing` counts those that stand on no page of their document.
        cut: documents that are longer than the model takes; `texts_cut` counts the texts to write that are.
    """

    task: str
    max_length: int
    labels: tuple[str, ...]
    sources: tuple[str, ...]
    pages: dict[str, int]
    examples: dict[str, int]
    dead: int
    digest: str
    values: int = 0
    missing: int = 0
    cut: int = 0
    texts_cut: int = 0
    filtered: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def read(cls, folder: str) -> "Card":
        """Raises InputError when `folder` is no EXAMPLES data set."""
        try:
            values: dict[str, Any] = json.loads(sources.read_bytes(sources.join(folder, CARD)))
        except DocumentError as error:
            raise InputError(
                f"{folder} is not a data set of examples ({CARD} is missing); make one with `layoutray encode`"
            ) from error
        values["labels"], values["sources"] = tuple(values["labels"]), tuple(values["sources"])
        return cls(**values)

    def write(self, folder: str) -> None:
        shards.write_bytes(json.dumps(asdict(self), indent=2, sort_keys=True).encode(), folder, CARD)
