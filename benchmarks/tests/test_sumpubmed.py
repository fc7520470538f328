import hashlib
from pathlib import Path

import pytest

from layoutray.document import Field
from layoutray.errors import InputError
from layoutray.readers import load
from tests.readers.native import items, put, texts

READER = load("sumpubmed")


def test_number_pairs_text_and_abstract(tmp_path: Path) -> None:
    put(tmp_path / "text" / "text_7.txt", "BACKGROUND\nthe  <cit> . é\n")
    put(tmp_path / "text" / "text_81.txt", "alone")
    put(tmp_path / "line_text" / "text_7.txt", "other lines")
    put(tmp_path / "abstract" / "abstract_7.txt", "BACKGROUND\n")
    put(tmp_path / "shorter_abstract" / "abst_7.txt", "one.\ntwo.\n")
    put(tmp_path / "shorter_abstract" / "abst_8.txt", "of no text")
    found = items(READER, tmp_path)
    assert set(found) == {("", "7"), ("", "81")}
    paired, alone = (READER.read(found["", number]) for number in ("7", "81"))
    assert texts(paired) == ["BACKGROUND", "the", "<cit>", ".", "é"]
    assert [word.block for word in paired.pages[0].words] == [0, 1, 1, 1, 1]
    assert paired.document.fields == (Field("summary", "one.\ntwo."),)
    assert paired.document.doc_id == hashlib.sha256("BACKGROUND\nthe  <cit> . é\n".encode()).hexdigest()
    assert alone.document.fields == ()


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path / "shorter_abstract" / "abst_7.txt", "one")
    with pytest.raises(InputError, match=r"text/text_\*\.txt"):
        list(READER.discover(str(tmp_path)))


def test_real_articles(data_root: Path) -> None:
    found = list(READER.discover(str(data_root / "sumpubmed")))
    truths = [READER.read(item) for item in found[::40]]
    assert all(len(truth.document.fields) == 1 and truth.document.num_pages > 1 for truth in truths)
    if len(found) != 358:
        pytest.skip("the articles that the totals are known of are not there")
    lengths = {item.source: len(Path(item.source).read_text().split()) for item in found}
    assert (min(lengths.values()), max(lengths.values())) == (1147, 10912)
    in_order = sorted(found, key=lambda item: lengths[item.source])
    for item in (*in_order[::40], in_order[-1]):
        assert sum(len(page.words) for page in READER.read(item).pages) == lengths[item.source]
