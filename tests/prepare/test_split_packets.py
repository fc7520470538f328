"""Answered packets become a list of documents, and a data set for each kind."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from layoutray.cli import predict
from layoutray.document import Document, Page
from layoutray.document.answers import Entity, Found, Region
from layoutray.errors import InputError
from layoutray.inference.extractor import page_answers
from layoutray.prepare.manifest import IngestRun, Manifest
from layoutray.prepare.split_packets import split_packets
from layoutray.store import codec, shards
from layoutray.store.answer_set import AnswerSet
from layoutray.store.data_set import DataSet, is_ingested
from tests.cluster.checkpoints import save_untrained
from tests.jobs import page

LABELS = tuple(f"{prefix}-{kind}" for kind in ("bill", "order form") for prefix in "BIES")


def write(folder: Path, packet: list[Page]) -> DataSet:
    made = DataSet(str(folder))
    shards.write(codec.pages_table(packet, [f"p{one.number}" for one in packet]), made.pages, "part-0.parquet")
    document = Document(doc_id=packet[0].doc_id, source="p.pdf", split="", num_pages=len(packet))
    shards.write(codec.documents_table([document]), made.documents, "part-0.parquet")
    counts: dict[str, Any] = dict.fromkeys(("documents_in", "documents_out", "documents_dead", "without_picture"), 1)
    counts |= dict.fromkeys(("pages_in", "pages_out", "pages_dead", "rows"), len(packet))
    counts |= dict.fromkeys(("known_from_train", "box_repairs", "words_dropped"), 0)
    counts |= {name: {} for name in ("reasons", "words_from", "engines", "splits")}
    run = IngestRun(pages=1, seconds=1.0, workers=1)
    Manifest(source="s", duplicates=[], settings={}, settings_hash="h", version="0", run=run, **counts).write(
        made.folder
    )
    return made


@pytest.mark.parametrize(("bill", "form"), [("bill", "order form"), ("..", "--"), ("a/b", "a b")])
def test_documents_are_listed_and_those_of_a_kind_are_a_data_set(bill: str, form: str, tmp_path: Path) -> None:
    packet = [replace(page(7), number=number) for number in range(1, 6)]
    packet[3] = replace(packet[3], words=())
    best = {1: f"S-{bill}", 2: f"B-{form}", 3: f"I-{form}", 5: f"E-{form}"}
    entities = [
        tuple(
            Entity(
                type=label,
                content="",
                confidence=0.9999 if label == best[one.number] else 0.00003,
                bounding_regions=(Region(one.number, (0.0,) * 8),),
                words=(),
            )
            for label in (f"{prefix}-{kind}" for kind in (bill, form) for prefix in "BIES")
            if one.words
        )
        for one in packet
    ]
    data_set, answers = write(tmp_path / "pages", packet), AnswerSet(str(tmp_path / "answers"))
    answered = page_answers(packet, [*map(Found, entities)], ("router", "1"), {})
    answers.write(codec.answers_table(answered), [one.to_json() for one in answered], "part-0")
    found = split_packets(answers, data_set)
    assert found.documents == {bill: 1, form: 1}
    assert {Path(folder).parent for folder in found.kinds.values()} == {tmp_path / "answers" / "kinds"}
    assert found.others == {"blank": 1}
    (line,) = map(json.loads, (tmp_path / "answers" / "packets.jsonl").read_text().splitlines())
    assert [(one["kind"], one["pages"]) for one in line["documents"]] == [(bill, [1]), (form, [2, 3, 5])]
    assert line["other_pages"] == [{"page_number": 4, "role": "blank"}]
    assert is_ingested(found.kinds[form])
    of_kind = DataSet(found.kinds[form])
    (document,) = of_kind.read_documents()
    assert (document.doc_id, document.num_pages) == (f"{packet[0].doc_id}-2", 3)
    read = [(one.doc_id, one.number, [word.text for word in one.words]) for one in of_kind.read_pages()]
    assert read == [(document.doc_id, n + 1, [word.text for word in packet[n].words]) for n in (1, 2, 4)]
    assert asdict(found) == asdict(split_packets(answers, data_set)), "a second run writes the same"


@pytest.mark.parametrize("route", ["bill", "bill=", "=x", "deed=x"])
def test_a_route_names_a_kind_of_the_model_and_a_model(route: str, tmp_path: Path) -> None:
    save_untrained(tmp_path / "router", name="page_labels", labels=LABELS)
    (tmp_path / "scans").mkdir()
    with pytest.raises(InputError, match=r"must be KIND=MODEL, each kind once; the kinds are bill, order form"):
        predict.predict(tmp_path / "router", tmp_path / "scans", out=tmp_path / "out", routes=[route])
