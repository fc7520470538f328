"""Automatic tags against those of people, on WildReceipt."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from layoutray.document import Field, Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE, kind_of, spans
from layoutray.prepare.tag_fields import tag_fields
from layoutray.readers import load

READER = load("wildreceipt")


def test_words_are_tagged_as_people_tagged_them(data_root: Path) -> None:
    schema = {
        "Date_value": FieldType(type="date", month_first=True),
        "Store_addr_value": FieldType(type="address"),
        "Total_value": FieldType(type="amount"),
    }
    found, true, both = Counter[str](), Counter[str](), Counter[str]()
    for reference in list(READER.discover(str(data_root / "wildreceipt")))[::4]:
        original = READER.read(reference).pages[0]
        bare = replace(original, words=tuple(replace(word, tag=None) for word in original.words))
        tagged = tag_fields([bare], _values(original, schema), schema).pages[0]
        for word, guess in zip(original.words, tagged.words, strict=True):
            kinds = [kind_of(one.tag or OUTSIDE) for one in (word, guess)]
            true[kinds[0]] += 1
            found[kinds[1]] += 1
            both[kinds[0]] += kinds[0] == kinds[1]
    # An amount that is the total stands elsewhere too: before tax, as cash.
    for kind, precision, recall in (
        ("Date_value", 0.98, 0.88),
        ("Store_addr_value", 0.98, 0.9),
        ("Total_value", 0.7, 0.95),
    ):
        assert both[kind] >= precision * found[kind], f"precision of {kind}: {both[kind]} of {found[kind]}"
        assert both[kind] >= recall * true[kind], f"recall of {kind}: {both[kind]} of {true[kind]}"


def _values(of: Page, kinds: Collection[str]) -> list[Field]:
    """A value of each kind: an address runs over all boxes that hold it, other values stand in the first."""
    boxes = [
        (kind, " ".join(word.text for word in of.words[start:end]))
        for kind, start, end in spans([word.tag for word in of.words])
        if kind in kinds
    ]
    texts = {kind: [text for other, text in boxes if other == kind] for kind, _ in boxes}
    return [Field(kind, " ".join(text) if kind == "Store_addr_value" else text[0]) for kind, text in texts.items()]
