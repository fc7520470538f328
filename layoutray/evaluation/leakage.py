"""Find held-out documents that leak from training: copies of training documents, and documents with the same template.

Receipts of one shop and forms of one authority repeat. A score on a template that the model has memorised says little
about new templates.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from layoutray.document.signals import TEMPLATE_WORDS, plain_words
from layoutray.store.data_set import DataSet

SHINGLE_WORDS = 3
"""Length of the word runs (shingles) whose overlap is the similarity of two documents."""
SAME_TEMPLATE = 0.5
"""Two documents with at least this Jaccard similarity have the same template."""

Texts = Mapping[str, Sequence[str]]
"""Words of documents, by document id."""
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """Ids of held-out documents that leak from training.

    Attributes:
        copies: documents with the bytes of a training document, or with its text apart from blanks, punctuation and
            case.
        templates: documents with the first 5 words of a training document, or with a Jaccard similarity of at least 0.5
            to one, by runs of 3 words without digits, punctuation and case. Copies are included.
    """

    copies: frozenset[str]
    templates: frozenset[str]


def known(held_out: Texts, training: Texts) -> Known:
    """The documents of `held_out` that leak from `training`. Documents without words are compared by id alone."""
    templates = [plain_words(words) for words in training.values()]
    texts = {_text(words) for words in training.values()} - {""}
    headers = {words[:TEMPLATE_WORDS] for words in templates} - {()}
    # Documents by shingle, so that a document is compared only with those that share a shingle.
    sizes: list[int] = []
    documents: dict[_Words, list[int]] = defaultdict(list)
    for number, words in enumerate(templates):
        shingles = _shingles(words)
        sizes.append(len(shingles))
        for shingle in shingles:
            documents[shingle].append(number)

    def similarity(words: _Words) -> float:
        """Highest Jaccard similarity to any training document; 0 if none shares a shingle."""
        shingles = _shingles(words)
        shared = Counter(number for shingle in shingles for number in documents.get(shingle, ()))
        return max((count / (len(shingles) + sizes[number] - count) for number, count in shared.items()), default=0.0)

    copies = frozenset(doc_id for doc_id, words in held_out.items() if doc_id in training or _text(words) in texts)
    same_template = {
        doc_id
        for doc_id, words in ((doc_id, plain_words(words)) for doc_id, words in held_out.items())
        if words[:TEMPLATE_WORDS] in headers or similarity(words) >= SAME_TEMPLATE
    }
    return Known(copies, copies | same_template)


def document_words(data_set: DataSet, splits: Collection[str]) -> dict[str, list[str]]:
    """Words of the documents in `splits`, in page order, by document id."""
    pages: dict[str, dict[int, list[str]]] = defaultdict(dict)
    for table in data_set.scan_pages(["doc_id", "page", "words"], pc.field("split").isin(list(splits))):
        for row in table.to_pylist():
            pages[row["doc_id"]][row["page"]] = row["words"]
    return {
        doc_id: [word for number in sorted(by_number) for word in by_number[number]]
        for doc_id, by_number in pages.items()
    }


def _text(words: Sequence[str]) -> str:
    """Letters and digits of the text. Engines and annotators split words differently, so blanks are left out."""
    return re.sub(r"[\W_]", "", "".join(words).casefold())


def _shingles(words: _Words) -> set[_Words]:
    return {words[start : start + SHINGLE_WORDS] for start in range(len(words) - SHINGLE_WORDS + 1)}
