"""The documents of answered packets: their list, and for each kind a data set that its model can answer."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.prepare.manifest import Manifest
from layoutray.prepare.whole_documents import document_groups
from layoutray.store import codec, shards, sources
from layoutray.store.answer_set import PACKETS, AnswerSet
from layoutray.store.data_set import DataSet
from layoutray.store.schema import ANSWERS
from layoutray.tasks.packets import split

_NOT_IN_NAMES = re.compile(r"[^\w-]+")


@dataclass(frozen=True, slots=True)
class SplitAnswers:
    """What the packets hold.

    Attributes:
        kinds: folder of the data set of each kind.
        documents: number of documents of each kind.
        others: number of blank pages and of separator sheets.
    """

    kinds: Mapping[str, str]
    documents: Mapping[str, int]
    others: Mapping[str, int]


def split_packets(answers: AnswerSet, data_set: DataSet) -> SplitAnswers:
    """Split all packets that a model of pages has answered.

    Writes a line for each packet into `packets.jsonl`, and a data set for each kind into `kinds/`. A document has the
    id of its packet with the number of its first page, and its pages keep their numbers in the packet.
    """
    labels = _labels(answers)
    lines: list[str] = []
    pages: dict[str, list[Page]] = defaultdict(list)
    documents: dict[str, list[Document]] = defaultdict(list)
    others = Counter[str]()
    for packet, of_packet in chain.from_iterable(document_groups([data_set], [*labels])):
        found = split(of_packet, labels[packet.doc_id])
        content = {
            "doc_id": packet.doc_id,
            "source": packet.source,
            "documents": [asdict(part) for part in found.documents],
            "other_pages": [{"page_number": number, "role": role} for number, role in found.others.items()],
        }
        lines.append(json.dumps(content, ensure_ascii=False) + "\n")
        others.update(found.others.values())
        for part in found.documents:
            doc_id = f"{packet.doc_id}-{part.pages[0]}"
            made = Document(doc_id=doc_id, source=packet.source, split=packet.split, num_pages=len(part.pages))
            documents[part.kind].append(made)
            pages[part.kind] += [replace(one, doc_id=doc_id) for one in of_packet if one.number in part.pages]
    shards.write_bytes("".join(lines).encode(), answers.folder, PACKETS)
    kinds = {kind: sources.join(answers.folder, "kinds", name) for kind, name in _names(documents).items()}
    manifest = Manifest.read(data_set.folder)
    for kind, folder in kinds.items():
        _write(DataSet(folder), pages[kind], documents[kind], manifest)
    return SplitAnswers(kinds, {kind: len(documents[kind]) for kind in kinds}, others)


def _names(kinds: Iterable[str]) -> dict[str, str]:
    """A name for the folder of each kind, all different."""
    names: dict[str, str] = {}
    for kind in sorted(kinds):
        name = _NOT_IN_NAMES.sub("-", kind)
        while name in names.values():
            name += "-2"
        names[kind] = name
    return names


def _labels(answers: AnswerSet) -> dict[str, dict[int, dict[str, float]]]:
    """The probabilities of the labels of each page, by packet and number; a packet of blank pages has none."""
    rows = shards.read(
        answers.tables, ANSWERS, ["doc_id", "page", "type", "confidence"], pc.field("status") == "success"
    )
    labels: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for row in rows.to_pylist():
        of_packet = labels[row["doc_id"]]
        if row["type"]:
            of_packet.setdefault(row["page"], {})[row["type"]] = row["confidence"]
    return labels


def _write(out: DataSet, pages: Sequence[Page], documents: Sequence[Document], manifest: Manifest) -> None:
    sources.remove_folder(out.folder)
    name = shards.part_name(document.doc_id for document in documents)
    shards.write(codec.pages_table(pages, [f"{page.doc_id}-{page.number}" for page in pages]), out.pages, name)
    shards.write(codec.documents_table(documents), out.documents, name)
    counts = {"documents_in": len(documents), "documents_out": len(documents), "rows": len(pages)}
    counts |= {"pages_in": len(pages), "pages_out": len(pages), "documents_dead": 0, "pages_dead": 0}
    nothing = {"duplicates": [], "without_picture": 0, "reasons": {}}
    made = replace(manifest, splits=dict(Counter(page.split for page in pages)), **counts, **nothing)
    made.write(out.folder)
