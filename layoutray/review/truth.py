"""Finished documents as truth: their pages with tags, their values, and where both come from.

A document is truth only when a person has finished it: in an unfinished one, a word without a value may have one.
Earlier versions have finished documents with values that nobody had looked at; these are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from layoutray.document import REVIEWED, Document, Field, Page, Provenance
from layoutray.document.tags import to_iob2
from layoutray.review.documents import page_from_json, page_to_json
from layoutray.review.queue import Filter, listed
from layoutray.review.store import ReviewStore
from layoutray.review.values import VALUE, Value

_AT_ONCE = 500


def finished(store: ReviewStore, owner: str | None) -> Iterator[dict[str, Any]]:
    """The finished documents of an owner, of all if it is None; a document that several models have answered, once.

    Yields:
        Objects for `json.dumps`, which `document_of` and `pages_of` read.
    """
    seen: set[str] = set()
    numbers: list[int] = []
    while True:
        entries, count = listed(store, Filter(owner=owner, state="done"), len(numbers), _AT_ONCE)
        numbers += [entry.number for entry in entries]
        if len(numbers) >= count or not entries:
            break
    for number in sorted(numbers, reverse=True):  # the latest answers of a document first
        review = store.review(number)
        if review is None or review.entry.looks or review.entry.doc_id in seen:
            continue
        seen.add(review.entry.doc_id)
        log = store.corrections(number)
        pages = (store.page(number, page) for page, _, _ in store.pages(number))
        yield {
            "doc_id": review.entry.doc_id,
            "source": review.entry.source,
            "model": f"{review.entry.model_id} {review.entry.model_version}",
            "reviewers": list(dict.fromkeys(one.reviewer for one in log)),
            "time": log[-1].time,
            "pages": [page_to_json(page) for page in pages if page],
            "values": [
                asdict(value) | {"said": said.text if (said := review.said.get(value.id)) else None}
                for value in review.values
                if value.state != "removed"
            ],
        }


def document_of(reviewed: Mapping[str, Any], split: str) -> Document:
    """The document of an object of `finished`, with its values as a person has left them."""
    rows = _row_numbers(reviewed["values"])
    fields = (Field(value["name"], value["text"].strip(), rows.get(value["row"])) for value in reviewed["values"])
    kept = tuple(dict.fromkeys(field for field in fields if field.value))
    return Document(
        doc_id=reviewed["doc_id"], source=reviewed["source"], split=split, num_pages=len(reviewed["pages"]), fields=kept
    )


def pages_of(reviewed: Mapping[str, Any], split: str) -> tuple[Page, ...]:
    """The pages of an object of `finished`, with a tag for each word: exactly the words that the person has chosen."""
    rows = _row_numbers(reviewed["values"])
    values = [VALUE.validate_python(fields) for fields in reviewed["values"]]
    when = datetime.fromtimestamp(reviewed["time"], UTC).isoformat(timespec="seconds")
    reason = f"reviewed by {', '.join(reviewed['reviewers'])} on {when}; answered by {reviewed['model']}"
    return tuple(
        _tagged(replace(page, split=split), [value for value in values if value.page == page.number], rows, reason)
        for page in map(page_from_json, reviewed["pages"])
    )


def _row_numbers(values: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The number of each record in its document, from 1."""
    rows = dict.fromkeys(value["row"] for value in values if value["row"])
    return {row: number for number, row in enumerate(rows, 1)}


def _tagged(page: Page, values: Sequence[Value], rows: Mapping[str, int], reason: str) -> Page:
    spans: list[tuple[str, int, int]] = []
    groups: dict[int, int | None] = {}
    for value in values:
        free = sorted(word for word in set(value.words) if word < len(page.words) and word not in groups)
        # Words that do not follow each other are several entities: IOB2 has no gaps.
        for _, run in groupby(enumerate(free), lambda pair: pair[1] - pair[0]):
            words = [word for _, word in run]
            spans.append((value.name, words[0], words[-1] + 1))
        groups |= dict.fromkeys(free, rows.get(value.row))
    tags = to_iob2(spans, len(page.words))
    words = (
        replace(word, tag=tag, group=groups.get(number))
        for number, (word, tag) in enumerate(zip(page.words, tags, strict=True))
    )
    origin = page.provenance
    provenance = Provenance(
        words=REVIEWED, reason=reason, engine=origin.engine, version=origin.version, settings=origin.settings
    )
    return replace(page, words=tuple(words), provenance=provenance)
