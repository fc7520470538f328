import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError
from layoutray.readers import load
from tests.readers.native import items, put, texts

READER = load("scitldr")
PAPER = json.dumps(
    {"source": ["We train.", "", "It works\u2028well."], "target": ["Works.", " "], "title": "On"}, ensure_ascii=False
)


def test_each_line_is_a_document_named_by_its_number(tmp_path: Path) -> None:
    put(tmp_path / "train.jsonl", f"{PAPER}\n\n" + PAPER.replace("train", "test") + "\n")
    put(tmp_path / "dev.jsonl", PAPER.replace('" "', '"Also."'))
    put(tmp_path / "other.jsonl", PAPER)
    found = items(READER, tmp_path)
    assert set(found) == {("train", "1"), ("train", "3"), ("dev", "1")}
    assert found["train", "3"].source == str(tmp_path / "train.jsonl#3")
    first, other = READER.read(found["train", "1"]), READER.read(found["dev", "1"])
    assert texts(first) == ["We", "train.", "It", "works", "well."]
    assert (first.document.fields, first.dropped) == ((Field("summary", "Works."),), 1)
    assert first.document.doc_id == hashlib.sha256(PAPER.encode()).hexdigest()
    assert other.document.fields == (Field("summary", "Works."), Field("summary", "Also."))


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        ('{"source": ["a"]}', "`target` is missing"),
        ('{"source": [1]}', "a list of texts"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, line: str, wrong: str) -> None:
    put(tmp_path / "train.jsonl", f"{PAPER}\n{line}")
    with pytest.raises(DocumentError, match=rf"train\.jsonl#2: .*{wrong}"):
        READER.read(items(READER, tmp_path)["train", "2"])


def test_one_version_of_the_papers_is_enough(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.jsonl"):
        list(READER.discover(str(tmp_path)))
    for version in ("SciTLDR-A", "SciTLDR-AIC"):
        put(tmp_path / version / "train.jsonl", PAPER)
    with pytest.raises(InputError, match="give one of these folders"):
        list(READER.discover(str(tmp_path)))


def test_real_papers(data_root: Path) -> None:
    found = items(READER, data_root / "scitldr")
    counts = Counter(split for split, _ in found)
    summaries = {
        split: Counter(len(READER.read(found[split, str(number)]).document.fields) for number in range(1, 51))
        for split in counts
    }
    assert set(summaries["train"]) == {1}
    assert max(summaries["dev"]) > 1
    if counts != {"train": 1992, "dev": 619, "test": 588}:
        pytest.skip("the papers that the totals are known of are not there")
    lengths = [len(READER.read(found["dev", str(number)]).pages[0].words) for number in range(1, 620)]
    assert (min(lengths), max(lengths)) == (33, 375)
