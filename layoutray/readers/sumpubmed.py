"""SumPubMed: articles of biology and medicine with their abstracts (Gupta et al., ACL-SRW 2021).

Files: `text/text_N.txt` (a paragraph or an upper-case heading a line) and `shorter_abstract/abst_N.txt`, the abstract's sentences one a
line, cleaned of headings; N pairs them. All is lower-cased, `<dig>` stands for numbers and `<cit>` for citations. `abstract` (with its
headings) and `line_text` (the text in other lines) are not read. The set has no splits.
"""

from collections.abc import Iterator

from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import by_kind, nothing_found, text_of
from layoutray.readers.texts import text_truth
from layoutray.store import sources

_TEXT, _ABSTRACT = "text", "shorter_abstract"


class _SumPubMed:
    name = "sumpubmed"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        found = by_kind(root, {_TEXT: {".txt"}, _ABSTRACT: {".txt"}})
        pairs = {folder: kinds for folder, kinds in found.items() if kinds.get(_TEXT)}
        if not pairs:
            raise nothing_found(root, f"{_TEXT}/text_*.txt, with {_ABSTRACT}/abst_*.txt beside that folder")
        for _, kinds in sorted(pairs.items()):
            abstracts = {_number(stem): uri for stem, uri in kinds[_ABSTRACT].items()}
            for stem, text in sorted(kinds[_TEXT].items()):
                yield DocumentRef(
                    _number(stem), source=text, image="", annotation=abstracts.get(_number(stem), ""), split=""
                )

    def read(self, item: DocumentRef) -> Truth:
        """The article; without a summary where the set has no abstract of it."""
        data = sources.read_bytes(item.source)
        abstract = [text_of(sources.read_bytes(item.annotation), item.annotation)] if item.annotation else []
        return text_truth(item, sources.content_id(data), text_of(data, item.source), abstract)


def _number(stem: str) -> str:
    return stem.rpartition("_")[2]


READER = _SumPubMed()
