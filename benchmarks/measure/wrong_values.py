"""Values of documents made wrong as a large model gets them wrong: missing, swapped, or invented."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

from layoutray.document import Document, Field

_KINDS = ("missing", "swapped", "invented")
_ALPHABETS = (digits, ascii_uppercase, ascii_lowercase)


def made_wrong(documents: Sequence[Document], share: float, random: Random) -> list[Document]:
    """The documents with this share of all their values made wrong, a third each missing, swapped and invented.

    A swapped value is that of another field of the document, or of the same field of another document, in turns.
    """
    fields = [list(document.fields) for document in documents]
    places = [(number, at) for number, of_one in enumerate(fields) for at in range(len(of_one))]
    wrong = random.sample(places, round(share * len(places)))
    changed: dict[tuple[int, int], Field | None] = {}
    for turn, (number, at) in enumerate(wrong):
        field, kind = fields[number][at], _KINDS[turn % len(_KINDS)]
        if kind == "missing":
            changed[number, at] = None
        elif kind == "invented":
            changed[number, at] = replace(field, value=_invented(field.value, random))
        else:
            others = _others(fields, number, at, of_document=turn % 2 == 0)
            changed[number, at] = replace(field, value=random.choice(others)) if others else None
    return [
        replace(document, fields=tuple(one for at, was in enumerate(of_one) if (one := changed.get((number, at), was))))
        for number, (document, of_one) in enumerate(zip(documents, fields, strict=True))
    ]


def _others(fields: Sequence[Sequence[Field]], number: int, at: int, *, of_document: bool) -> list[str]:
    """Other values than the one at `at` of document `number`: of the document, or of the field in other documents."""
    field = fields[number][at]
    if of_document:
        return [one.value for one in fields[number] if one.name != field.name and one.value != field.value]
    same = (one for other, of_one in enumerate(fields) if other != number for one in of_one if one.name == field.name)
    return [one.value for one in same if one.value != field.value]


def _invented(value: str, random: Random) -> str:
    """A text of the same form, with other letters and digits."""
    of = {letter: alphabet for alphabet in _ALPHABETS for letter in alphabet}
    return "".join(random.choice(of[letter]) if letter in of else letter for letter in value)
