"""The plan of a bulk prediction: every page or document is in one unit, whose name follows from its content."""

import dataclasses
from pathlib import Path

import pytest

from layoutray.errors import DocumentError, Reason, SchemaError
from layoutray.prepare import answer_plan
from layoutray.prepare.answer_plan import Unit, document_units, failures, make_plan, page_units
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from tests import documents
from tests.jobs import pages, write_pages


def put(data_set: DataSet, numbers: range, shard: str) -> None:
    made = pages(numbers.stop)[numbers.start :]
    shards.write(codec.pages_table(made, [page.source for page in made]), data_set.pages, f"{shard}.parquet")


def rows(unit: Unit) -> list[str]:
    return shards.read_rows(unit.shard, unit.start, unit.rows)["page_id"].to_pylist()


def test_every_page_is_in_one_unit_and_other_shards_do_not_change_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_plan, "_PAGES_PER_UNIT", 3)
    data_set = DataSet(str(tmp_path))
    put(data_set, range(5, 12), "b")
    units = list(page_units(data_set))
    assert [unit.rows for unit in units] == [3, 3, 1]
    put(data_set, range(5), "a")
    grown = list(page_units(data_set))
    assert sorted(page for unit in grown for page in rows(unit)) == sorted(page.source for page in pages(12))
    assert {unit.name for unit in units} < {unit.name for unit in grown}
    assert len({unit.name for unit in grown}) == 5
    plan = make_plan(grown, [], {unit.name for unit in units})
    assert [rows(unit) for unit in plan.remaining] == [rows(unit) for unit in grown[:2]]
    assert (plan.rows, plan.skipped, plan.letters) == (12, 7, 0)


def test_a_unit_of_documents_is_named_by_their_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_plan, "_DOCUMENTS_PER_UNIT", 2)
    data_set, wholes = DataSet(str(tmp_path)), [documents.pages(number) for number in range(3)]
    documents.write_documents(tmp_path, [documents.document(whole) for whole in wholes])
    write_pages(tmp_path, [page for whole in wholes for page in whole])
    first, second = document_units(data_set)
    assert ([first.start, first.rows], [second.start, second.rows]) == ([0, 2], [2, 1])
    assert [Path(uri).name for uri in first.pages] == ["part-one.parquet"]
    renamed = dataclasses.replace(wholes[2][1], source="another page")
    write_pages(tmp_path, [page for whole in wholes[:2] for page in whole] + [wholes[2][0], renamed])
    changed = list(document_units(data_set))
    assert changed[0] == first
    assert changed[1].name != second.name


def test_documents_are_required(tmp_path: Path) -> None:
    write_pages(tmp_path, pages(2))
    with pytest.raises(SchemaError, match=r"has no .parquet shards"):
        list(document_units(DataSet(str(tmp_path))))


def test_dead_letters_of_pages_do_not_count_for_documents(tmp_path: Path) -> None:
    error = DocumentError(Reason.ENCRYPTED, "is encrypted", stage="open")
    letters = [DeadLetter.of(error, "a.pdf"), DeadLetter.of(error, "b.pdf", page=2, page_id="b2")]
    data_set = DataSet(str(tmp_path))
    shards.write(codec.dead_letters_table(letters), data_set.dead_letters, "part-x.parquet")
    ((of_pages, both),) = failures(data_set, of_documents=False)
    ((of_documents, one),) = failures(data_set, of_documents=True)
    assert (both, one) == (letters, letters[:1])
    assert of_pages != of_documents
    plan = make_plan([], failures(data_set, of_documents=False), set())
    assert (plan.names, plan.letters) == ({of_pages}, 2)
