"""Held-out documents that are known from training: copies, and documents with the same template.

Receipts of one shop and forms of one authority share a template. The score of a model on templates that it was trained
on says little about new templates.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from layoutray.store import shards, sources
from layoutray.store.schema import PAGES

HEADER = 5
"""Two documents with this many first words in common have the same template."""
SHINGLE = 3
"""Number of consecutive words of a shingle, the unit of similarity."""
SAME_TEMPLATE = 0.5
"""Minimum Jaccard similarity of two documents with the same template."""

Texts = Mapping[str, Sequence[str]]
"""The words of documents by their ids."""
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """Ids of held-out documents.

    Attributes:
        copies: with the bytes of a training document, or the same text except for white space, punctuation and case.
        templates: with the same first 5 words as a training document, or with a Jaccard similarity of at least 0.5 of
            runs of 3 words, where digits, punctuation and case are ignored; includes the copies.
    """

    copies: frozenset[str]
    templates: frozenset[str]


def known(held_out: Texts, learnt: Texts) -> Known:
    """Documents of `held_out` known from `learnt`; documents without words are compared only by their bytes."""
    letters = [_letters(words) for words in learnt.values()]
    texts = {_text(words) for words in learnt.values()} - {""}
    headers = {words[:HEADER] for words in letters} - {()}
    index = _Index(letters)
    copies = frozenset(doc_id for doc_id, words in held_out.items() if doc_id in learnt or _text(words) in texts)
    normalised = {doc_id: _letters(words) for doc_id, words in held_out.items()}
    similar = {
        doc_id
        for doc_id, words in normalised.items()
        if words[:HEADER] in headers or index.similarity(words) >= SAME_TEMPLATE
    }
    return Known(copies, copies | similar)


def texts_of(folder: str, splits: Collection[str]) -> dict[str, list[str]]:
    """Words of the documents of `splits`, in page order, from a folder that `ingest` or `mix` has written."""
    texts: dict[str, dict[int, list[str]]] = defaultdict(dict)
    in_splits = pc.field("split").isin(list(splits))
    for table in shards.scan(sources.join(folder, "pages"), PAGES, ["doc_id", "page", "words"], in_splits):
        for row in table.to_pylist():
            texts[row["doc_id"]][row["page"]] = row["words"]
    return {doc_id: [word for number in sorted(pages) for word in pages[number]] for doc_id, pages in texts.items()}


class _Index:
    """Index of documents by their shingles, so that only documents with a common shingle are compared."""

    def __init__(self, documents: Sequence[_Words]) -> None:
        self._documents_with: dict[_Words, list[int]] = defaultdict(list)
        self._sizes: list[int] = []
        for number, words in enumerate(documents):
            own = _shingles(words)
            self._sizes.append(len(own))
            for shingle in own:
                self._documents_with[shingle].append(number)

    def similarity(self, words: _Words) -> float:
        """Maximum Jaccard similarity of the shingles of `words` and of a document."""
        own = _shingles(words)
        shared = Counter(number for shingle in own for number in self._documents_with.get(shingle, ()))
        return max((count / (len(own) + self._sizes[number] - count) for number, count in shared.items()), default=0.0)


def _text(words: Sequence[str]) -> str:
    """Only letters and digits, because engines and annotators split words differently."""
    return re.sub(r"[\W_]", "", "".join(words).casefold())


def _letters(words: Sequence[str]) -> _Words:
    """The letters of the words, without what differs between documents of one template: numbers, dates, amounts."""
    return tuple(plain for word in words if (plain := re.sub(r"[\W\d_]", "", word.casefold())))


def _shingles(words: _Words) -> set[_Words]:
    return {words[start : start + SHINGLE] for start in range(len(words) - SHINGLE + 1)}
