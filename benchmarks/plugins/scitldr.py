"""SciTLDR: abstracts of papers with one or more summaries of one sentence (Cachola et al., 2020, arXiv:2004.15011).

Files: `{train,dev,test}.jsonl`, one paper per line: `source` has its sentences, `target` its summaries. The source of a
document is file and line, `train.jsonl#17`; the bytes of the line identify it. Titles and marks of important sentences
are ignored.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.plugins.summarised_texts import text_truth
from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, folder_of, json_object, malformed, member, nothing_found, text_of
from layoutray.store import sources

_SPLITS = ("train", "dev", "test")


class _SciTldr:
    name = "scitldr"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = [
            uri
            for uri in sources.list_files(root)
            if file_name(uri).suffix == ".jsonl" and file_name(uri).stem in _SPLITS
        ]
        if not files:
            raise nothing_found(root, f"{{{','.join(_SPLITS)}}}.jsonl")
        folders = sorted({folder_of(uri) for uri in files})
        if len(folders) > 1:
            raise InputError(
                f"{root} has several versions of the data set, in {', '.join(folders)}; give one of these folders"
            )
        for uri in files:
            for number, line in enumerate(text_of(sources.read_bytes(uri), uri).split("\n"), start=1):
                if line.strip():
                    # The line itself, so that the file is not read again for each document.
                    annotation = sources.data_uri("application/json", line.encode())
                    yield DocumentRef(
                        key=str(number),
                        source=f"{uri}#{number}",
                        image="",
                        annotation=annotation,
                        split=file_name(uri).stem,
                    )

    def read(self, reference: DocumentRef) -> Truth:
        data = sources.read_bytes(reference.annotation)
        paper = json_object(data, reference.source)
        return text_truth(
            reference,
            sources.content_id(data),
            " ".join(_texts(paper, "source", reference)),
            _texts(paper, "target", reference),
        )


def _texts(paper: dict[str, Any], key: str, reference: DocumentRef) -> list[str]:
    texts = member(paper, key, list, reference.source)
    if not all(isinstance(text, str) for text in texts):
        raise malformed(reference.source, f"`{key}` is {texts!r:.80}, expected a list of texts")
    return texts


READER = _SciTldr()
