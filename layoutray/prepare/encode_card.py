"""The card of the examples that `encode` has made, from the counts of their pieces."""

import dataclasses
from collections.abc import Sequence

from layoutray.document.filters import Filters
from layoutray.errors import InputError
from layoutray.prepare import origin
from layoutray.prepare.encode import Encoder, digest_of
from layoutray.prepare.pieces import PieceCounts
from layoutray.store.card import Card
from layoutray.store.data_set import DEAD_LETTERS_FOLDER
from layoutray.store.schema import SPLITS

_FILTERS = tuple(field.name for field in dataclasses.fields(Filters))


def card_of(encoder: Encoder, pieces: Sequence[PieceCounts], values: int) -> Card:
    """The card of all pieces. `values`: expected values in all documents."""

    def total(name: str) -> int:
        return sum(getattr(piece, name) for piece in pieces)

    def by_key(name: str, keys: Sequence[str]) -> dict[str, int]:
        return {key: sum(getattr(piece, name).get(key, 0) for piece in pieces) for key in keys}

    folders = tuple(data_set.folder for data_set in encoder.data_sets)
    return Card(
        task=encoder.task.name,
        max_length=encoder.max_length,
        labels=encoder.labels,
        sources=folders,
        pages=by_key("pages", SPLITS),
        examples=by_key("examples", SPLITS),
        dead=total("dead"),
        digest=digest_of(encoder, sum(int(piece.digest, 16) for piece in pieces)),
        values=values,
        missing=total("missing"),
        contradictory=total("contradictory"),
        cut=total("cut"),
        texts_cut=total("texts_cut"),
        filtered={name: count for name, count in by_key("filtered", _FILTERS).items() if count},
        documents=origin.names_of(folders),
        words=origin.word_sources(folders),
    )


def check_examples(card: Card, out: str) -> None:
    """Raise InputError if there is nothing to train on. `out`: folder of the examples."""
    folders = ", ".join(card.sources)
    if not card.examples["train"]:
        refused = f"; filters refused {card.filtered}" if card.filtered else ""
        raise InputError(
            f"no training page of {folders} has words that can be encoded{refused}; see {out}/{DEAD_LETTERS_FOLDER}"
        )
    if card.values and card.missing + card.contradictory == card.values:
        raise InputError(
            f"none of the {card.values} expected values in {folders} can be learned: {card.missing} occur on no page "
            f"of their document, and {card.contradictory} contradict others of it; {out}/{DEAD_LETTERS_FOLDER} lists "
            "the values; compare them with the types in [task.fields]"
        )
