"""All values of a folder of answers in one table."""

import csv
import io
import shutil
from pathlib import Path

from layoutray.formats import spreadsheet
from layoutray.store.answer_set import AnswerSet
from tests.review.answer_folders import write_answers


def rows(answers: AnswerSet) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(spreadsheet.answer_table(answers).decode())))


def test_fields_and_else_entities_are_rows(tmp_path: Path) -> None:
    answers = AnswerSet(write_answers(tmp_path, ["b", "a"])[0])
    fields = rows(answers)
    assert list(fields[0]) == ["document", "field", "value", "confidence"]
    assert [Path(row["document"]).name for row in fields] == sorted(Path(row["document"]).name for row in fields)
    assert {Path(row["document"]).name for row in fields} == {"a.pdf", "b.pdf"}
    assert {"company", "total"} <= {row["field"] for row in fields}
    assert all(0 <= float(row["confidence"]) <= 1 for row in fields)
    shutil.rmtree(answers.fields)
    entities = rows(answers)
    assert len(entities) > len(fields), "items are entities, and no fields"
    assert {row["field"] for row in fields} <= {row["field"] for row in entities}
