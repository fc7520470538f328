"""SumPubMed: articles of biology and medicine with their abstracts (Gupta et al., ACL-SRW 2021).

Files: `text/text_N.txt` (one paragraph or upper-case heading per line) and `shorter_abstract/abst_N.txt` (one
sentence of the abstract per line, without headings); N pairs them. The text is lower-case; `<dig>` replaces numbers
and `<cit>` citations. The folders `abstract` (with headings) and `line_text` (other line breaks) are ignored. There
are no splits.
"""

from collections.abc import Iterator

from benchmarks.plugins.summarised_texts import text_truth
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import by_kind, nothing_found, text_of
from layoutray.store import sources

_TEXT, _ABSTRACT = "text", "shorter_abstract"


class _SumPubMed:
    name = "sumpubmed"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = by_kind(root, {_TEXT: {".txt"}, _ABSTRACT: {".txt"}})
        pairs = {folder: kinds for folder, kinds in files.items() if kinds.get(_TEXT)}
        if not pairs:
            raise nothing_found(root, f"{_TEXT}/text_*.txt, and {_ABSTRACT}/abst_*.txt beside that folder")
        for _, kinds in sorted(pairs.items()):
            abstracts = {_number(stem): uri for stem, uri in kinds[_ABSTRACT].items()}
            for stem, text in sorted(kinds[_TEXT].items()):
                yield DocumentRef(
                    key=_number(stem), source=text, image="", annotation=abstracts.get(_number(stem), ""), split=""
                )

    def read(self, reference: DocumentRef) -> Truth:
        """The article; without a summary when the data set has no abstract for it."""
        data = sources.read_bytes(reference.source)
        abstract = (
            [text_of(sources.read_bytes(reference.annotation), reference.annotation)] if reference.annotation else []
        )
        return text_truth(reference, sources.content_id(data), text_of(data, reference.source), abstract)


def _number(stem: str) -> str:
    return stem.rpartition("_")[2]


READER = _SumPubMed()
