"""QMSum: meeting transcripts with queries and their answers as summaries (Zhong et al., NAACL 2021, arXiv:2104.05938).

Files: `{train,val,test}/*.json`, one meeting each, with its turns and two lists of queries with answers (general and
specific). A document is a query followed by the whole meeting, one turn per paragraph; its summary is the answer. Its
source is the meeting's file and the number of the query, `Bed003.json#2`; the bytes of both identify it. Marks of
noises and disfluencies ({vocalsound}, {disfmarker}) are kept. The spans of turns that a query is about are ignored.
"""

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.plugins.summarised_texts import text_truth
from layoutray.errors import DocumentError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, folder_of, json_object, malformed, member, nothing_found
from layoutray.store import sources

_SPLITS = {"train": "train", "val": "dev", "test": "test"}
_QUERIES = ("general_query_list", "specific_query_list")


class _QmSum:
    name = "qmsum"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = [
            uri
            for uri in sources.list_files(root)
            if file_name(uri).suffix == ".json" and file_name(folder_of(uri)).name in _SPLITS
        ]
        if not files:
            raise nothing_found(root, f"{{{','.join(_SPLITS)}}}/*.json")
        for uri in files:
            yield from _references(uri, _SPLITS[file_name(folder_of(uri)).name])

    def read(self, reference: DocumentRef) -> Truth:
        if not reference.annotation:
            _queries(reference.source)  # raises the error that prevented listing the queries
        uri = reference.source.rpartition("#")[0]
        data, query_data = sources.read_bytes(uri), sources.read_bytes(reference.annotation)
        query, answer = _texts(json_object(query_data, reference.source), ("query", "answer"), reference.source)
        turns = member(json_object(data, uri), "meeting_transcripts", list, uri)
        lines = [query, *(": ".join(_texts(turn, ("speaker", "content"), uri)) for turn in turns)]
        return text_truth(
            reference,
            sources.content_id(query_data + data),
            "\n".join(" ".join(line.split()) for line in lines),
            [answer],
        )


def _references(uri: str, split: str) -> Iterator[DocumentRef]:
    """One reference for each query; one for a meeting with unreadable queries, so that it becomes a dead letter."""
    try:
        queries = _queries(uri)
    except DocumentError:
        yield DocumentRef(key=file_name(uri).stem, source=uri, image="", annotation="", split=split)
        return
    for number, query in enumerate(queries, start=1):
        # As JSON in a data: URI: the file has many queries.
        annotation = sources.data_uri("application/json", json.dumps(query).encode())
        yield DocumentRef(
            key=f"{file_name(uri).stem}-{number}",
            source=f"{uri}#{number}",
            image="",
            annotation=annotation,
            split=split,
        )


def _queries(uri: str) -> list[Any]:
    meeting = json_object(sources.read_bytes(uri), uri)
    queries = [query for key in _QUERIES for query in member(meeting, key, list, uri)]
    if not queries:
        raise malformed(uri, "has no queries")
    return queries


def _texts(owner: Any, keys: tuple[str, str], where: str) -> tuple[str, str]:
    if not isinstance(owner, dict):
        raise malformed(where, f"{owner!r:.80} is not an object with `{'` and `'.join(keys)}`")
    first, second = (member(owner, key, str, where) for key in keys)
    return first, second


READER = _QmSum()
