from dataclasses import replace
from pathlib import Path

import pytest

from layoutray import config
from layoutray.errors import InputError
from layoutray.ocr import lexicon
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.lexicon import Lexicon
from layoutray.ocr.ppocr.settings import RapidocrSettings
from layoutray.ocr.settings import Recognition
from tests.store.pages import page, word


def test_words_of_three_pages_are_counted_once_a_page() -> None:
    often = [replace(word(text), confidence=0.95) for text in ("Total:", "TOTAL", "GST-ID", "no", "rare1x")]
    unsure = replace(word("GSI"), confidence=0.6)
    pages = [page("d", number, *often, unsure) for number in range(3)] + [page("e", 1, word("total"))]
    assert lexicon.count_words(pages) == {"TOTAL": 4, "GST": 3, "RARE": 3}
    assert lexicon.count_words(pages[:2]) == {}


def test_a_lexicon_comes_back_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_bytes(lexicon.to_bytes({"TOTAL": 4, "ÄRZTE": 3}))
    read = lexicon.load(str(file))
    assert "TOTAL" in read
    assert "total" not in read
    assert read.log_probability("TOTAL") > read.log_probability("ÄRZTE") > read.log_probability("TOTAI")


def test_a_lexicon_that_is_not_on_the_machine_of_a_worker_is_named(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_bytes(lexicon.to_bytes({"TOTAL": 4}))
    settings = Recognition(settings=RapidocrSettings(lexicon=str(file)))
    file.unlink()
    with IsolatedRecogniser(settings) as recogniser, pytest.raises(InputError, match=r"words\.tsv does not exist"):
        recogniser.count_pages(b"")


def test_similar_words_differ_by_one_letter() -> None:
    words = Lexicon({"TOTAL": 1, "TOTALS": 1, "GST": 1, "GET": 1, "GIFT": 1})
    assert sorted(words.similar("TOTAI")) == ["TOTAL"]
    assert sorted(words.similar("TOTAL")) == ["TOTALS"]
    assert sorted(words.similar("GIT")) == ["GET", "GST"], "short words keep their length"


@pytest.mark.parametrize("line", ["total\t4", "TOTAL", "TOTAL\t0", "TOTAL\tx", "TO\t4", "TOT4L\t4", "\x00"])
def test_other_files_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "words.tsv"
    file.write_text(f"INVOICE\t7\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2 of the lexicon"):
        lexicon.load(str(file))


def test_the_content_of_a_lexicon_is_part_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.tsv does not exist; make one with"):
        RapidocrSettings(lexicon=str(tmp_path / "missing.tsv"))
    file = tmp_path / "words.tsv"
    file.write_bytes(lexicon.to_bytes({"TOTAL": 4}))
    settings = RapidocrSettings(lexicon=str(file))
    assert len(settings.lexicon_hash) == 12
    recognition = Recognition(settings=settings)
    assert config.build(Recognition, config.to_dict(recognition), "recognition") == recognition
    file.write_bytes(lexicon.to_bytes({"TOTAL": 5}))
    assert RapidocrSettings(lexicon=str(file)) != settings
    with pytest.raises(InputError, match="has changed"):
        RapidocrSettings(lexicon=str(file), lexicon_hash=settings.lexicon_hash)
