"""What people have answered as truth: pages with tags, values, and where both come from.

A finished document is known as a whole: a word without a value has none. In any other one, and in one with values that
nobody has looked at, only the answered values are known: its words outside of them have unknown tags. Those of a value
that a person has removed are known not to be of its field.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from layoutray.document import REVIEWED, Document, Field, Page
from layoutray.document.tags import OUTSIDE, to_iob2, unknown_but_not
from layoutray.review.documents import page_from_json, page_to_json
from layoutray.review.queue import Filter
from layoutray.review.store import Review, ReviewStore
from layoutray.review.values import VALUE, Value


def reviewed(store: ReviewStore, owner: str | None) -> Iterator[dict[str, Any]]:
    """The documents of an owner, of all if it is None, of which a person has finished or answered something.

    A document that several models have answered is given once: as it was finished, else with the latest answers to each
    field. Answers to a reading with other words are left out.

    Yields:
        Objects for `json.dumps`, which `document_of` and `pages_of` read.
    """
    condition, values = Filter(owner=owner).condition()
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in store.database.rows(_CHANGED.format(condition=condition), *values):
        numbers[row["doc_id"]].append(row["number"])
    for same in numbers.values():
        found = filter(None, (_known(store, number) for number in same))
        if latest := next(found, None):
            for earlier in found if latest["partial"] else ():
                _add_fields(latest, earlier)
            yield latest


_CHANGED = """
    SELECT number, doc_id FROM documents WHERE {condition} AND revision > 0 ORDER BY state = 'done' DESC, number DESC
"""


def _known(store: ReviewStore, number: int) -> dict[str, Any] | None:
    """What is known of a document as one model has answered it; None if that is nothing."""
    review = store.review(number)
    if review is None:
        return None
    partial = review.entry.state != "done" or any(_is_unknown(one, review) for one in review.values)
    known = [one for one in review.values if one.state == "confirmed"]
    pages = [page for at, _, _ in store.pages(number) if (page := store.page(number, at))]
    not_of = _ruled_out(review, pages) if partial else []
    if partial and not (known or not_of):
        return None
    log = store.corrections(number)
    return {
        "doc_id": review.entry.doc_id,
        "source": review.entry.source,
        "model": f"{review.entry.model_id} {review.entry.model_version}",
        "reviewers": list(dict.fromkeys(one.reviewer for one in log)),
        "time": log[-1].time,
        "partial": partial,
        "pages": [*map(page_to_json, pages)],
        "values": [asdict(one) | {"said": said.text if (said := review.said.get(one.id)) else None} for one in known],
        "ruled_out": not_of,
    }


def _add_fields(latest: dict[str, Any], earlier: Mapping[str, Any]) -> None:
    """Add what is known of fields that are unknown in `latest`, if both have the same words."""
    words, others = ([page_from_json(page).words for page in one["pages"]] for one in (latest, earlier))
    if words != others:
        return
    names = {one["name"] for one in (*latest["values"], *latest["ruled_out"])}
    for part in ("values", "ruled_out"):
        latest[part] += [one for one in earlier[part] if one["name"] not in names]
    latest["reviewers"] = list(dict.fromkeys((*latest["reviewers"], *earlier["reviewers"])))


def _is_unknown(value: Value, review: Review) -> bool:
    """Whether nobody has said what a value is. An open guess does not count: the model has not answered it."""
    said = review.said.get(value.id)
    return value.state == "rejected" or (value.state == "open" and not (said and said.guess))


def _ruled_out(review: Review, pages: Sequence[Page]) -> list[dict[str, Any]]:
    """Name, page and words of the proposed values that a person has removed.

    An empty removed value means that the document has no value of this name, which rules out all words. A rejected
    value that nobody has corrected rules out none: most of its words may be right.
    """
    ruled_out: list[dict[str, Any]] = []
    for value in review.values:
        said = review.said.get(value.id)
        if value.state == "removed" and said and not value.text:
            ruled_out += [
                {"name": value.name, "page": page.number, "words": [*range(len(page.words))]} for page in pages
            ]
        elif value.state == "removed" and said:
            ruled_out.append({"name": said.name, "page": said.page, "words": [*said.words]})
    return ruled_out


def document_of(reviewed: Mapping[str, Any], split: str) -> Document:
    """The document of an object of `reviewed`, with its values as a person has left them."""
    rows = _row_numbers(reviewed["values"])
    fields = (Field(value["name"], value["text"].strip(), rows.get(value["row"])) for value in reviewed["values"])
    kept = tuple(dict.fromkeys(field for field in fields if field.value))
    return Document(
        doc_id=reviewed["doc_id"],
        source=reviewed["source"],
        split=split,
        num_pages=len(reviewed["pages"]),
        fields=kept,
        partial=reviewed["partial"],
    )


def pages_of(reviewed: Mapping[str, Any], split: str) -> tuple[Page, ...]:
    """The pages of an object of `reviewed`, with a tag for each word: exactly the words that the person has chosen.

    If the document is known in part, the tags of the other words are unknown.
    """
    rows = _row_numbers(reviewed["values"])
    values = [VALUE.validate_python(fields) for fields in reviewed["values"]]
    when = datetime.fromtimestamp(reviewed["time"], UTC).isoformat(timespec="seconds")
    reason = f"reviewed by {', '.join(reviewed['reviewers'])} on {when}; answered by {reviewed['model']}"
    pages: list[Page] = []
    for page in map(page_from_json, reviewed["pages"]):
        tagged = _tagged(page, [value for value in values if value.page == page.number], rows)
        if reviewed["partial"]:
            tagged = _with_unknown(tagged, [one for one in reviewed["ruled_out"] if one["page"] == page.number])
        origin = replace(page.provenance, words=REVIEWED, reason=reason)
        pages.append(replace(page, words=tagged.words, split=split, provenance=origin))
    return tuple(pages)


def _row_numbers(values: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The number of each record in its document, from 1."""
    rows = dict.fromkeys(value["row"] for value in values if value["row"])
    return {row: number for number, row in enumerate(rows, 1)}


def _tagged(page: Page, values: Sequence[Value], rows: Mapping[str, int]) -> Page:
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
    return replace(page, words=tuple(words))


def _with_unknown(page: Page, ruled_out: Sequence[Mapping[str, Any]]) -> Page:
    """The page with unknown tags in place of `O`, which say of what each word is not."""
    not_of: dict[int, list[str]] = defaultdict(list)
    for one in ruled_out:
        for word in one["words"]:
            not_of[word].append(one["name"])
    words = (
        replace(word, tag=unknown_but_not(not_of[number])) if word.tag == OUTSIDE else word
        for number, word in enumerate(page.words)
    )
    return replace(page, words=tuple(words))
