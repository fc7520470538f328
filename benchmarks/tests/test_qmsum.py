import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError
from layoutray.prepare.recognise import AnnotationWordSource, open_document
from layoutray.readers import load
from tests.readers.native import items, put, texts

READER = load("qmsum")
MEETING: dict[str, Any] = {
    "topic_list": [],
    "general_query_list": [{"query": "Summarise the meeting .", "answer": "They met ."}],
    "specific_query_list": [{"query": "Who spoke ?", "answer": "A did .", "relevant_text_span": [["0", "1"]]}],
    "meeting_transcripts": [{"speaker": "A", "content": "Well {gap}\nyes ."}, {"speaker": "Grad B", "content": ""}],
}


def test_each_query_is_a_document_that_begins_with_it(tmp_path: Path) -> None:
    data = put(tmp_path / "ALL" / "val" / "m.json", MEETING).read_bytes()
    found = items(READER, tmp_path)
    assert set(found) == {("dev", "m-1"), ("dev", "m-2")}
    general, specific = (READER.read(found["dev", f"m-{number}"]) for number in (1, 2))
    assert texts(specific) == ["Who", "spoke", "?", "A:", "Well", "{gap}", "yes", ".", "Grad", "B:"]
    assert [word.line for word in specific.pages[0].words] == [0] * 3 + [1] * 5 + [2] * 2
    assert specific.document.fields == (Field("summary", "A did ."),)
    assert specific.document.source == str(tmp_path / "ALL" / "val" / "m.json#2")
    asked = json.dumps(MEETING["specific_query_list"][0]).encode()
    assert specific.document.doc_id == hashlib.sha256(asked + data).hexdigest() != general.document.doc_id


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"general_query_list": [], "specific_query_list": []}, r"m\.json: has no queries"),
        ({"specific_query_list": 3}, r"m\.json: `specific_query_list` is 3"),
        ({"general_query_list": [{"query": "?"}]}, r"m\.json#1: `answer` is missing"),
        ({"general_query_list": ["?"]}, r"m\.json#1: .* value is a str"),
        ({"meeting_transcripts": ["yes"]}, r"m\.json: 'yes' is not an object"),
        ({"meeting_transcripts": None}, r"m\.json: `meeting_transcripts` is None"),
    ],
)
def test_what_is_wrong_is_named_and_loses_one_document(tmp_path: Path, change: dict[str, Any], wrong: str) -> None:
    put(tmp_path / "train" / "m.json", MEETING | change)
    first = next(iter(READER.discover(str(tmp_path))))
    with pytest.raises(DocumentError, match=wrong):
        READER.read(first)


def test_a_meeting_that_is_no_json_is_a_dead_letter(tmp_path: Path) -> None:
    put(tmp_path / "train" / "m.json", "{")
    (item,) = READER.discover(str(tmp_path))
    letter = open_document(AnnotationWordSource(READER), item).letter
    assert letter is not None
    assert "m.json: not JSON" in letter.message


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path / "jsonl" / "train.jsonl", MEETING)
    with pytest.raises(InputError, match=r"train,val,test"):
        list(READER.discover(str(tmp_path)))


def test_real_meetings(data_root: Path) -> None:
    found = items(READER, data_root / "qmsum")
    chosen = [item for item in found.values() if item.source.endswith("#1")][::20]
    for item in chosen:
        truth = READER.read(item)
        assert (len(truth.document.fields), truth.dropped) == (1, 0)
        assert truth.document.num_pages > 1
    if Counter(split for split, _ in found) != {"train": 462, "dev": 272, "test": 209}:
        pytest.skip("the meetings that the totals are known of are not there")
    assert len({item.source.partition("#")[0] for item in found.values()}) == 122
