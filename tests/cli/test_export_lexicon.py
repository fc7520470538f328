from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.cli.main import main
from tests.jobs import write_pages
from tests.store.pages import page, word


def test_words_of_many_pages_are_written_without_those_of_a_split(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [page("d", number, word("Total"), word("Shop" if number else "Misread")) for number in range(4)]
    made += [replace(one, split="test", doc_id="e") for one in made]
    pages, out = write_pages(tmp_path / "pages", made), tmp_path / "words.tsv"
    assert main(["export", "lexicon", pages, str(out), "--without", "test"]) == 0
    assert out.read_text(encoding="utf-8") == "TOTAL\t4\nSHOP\t3\n"
    assert "2 words" in capsys.readouterr().err
    assert main(["export", "lexicon", pages, str(out)]) == 1
    assert "words.tsv exists; give another file" in capsys.readouterr().err


def test_pages_without_common_words_make_no_lexicon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = write_pages(tmp_path / "pages", [page("d", 1, word("Total"))])
    assert main(["export", "lexicon", pages, str(tmp_path / "words.tsv")]) == 1
    assert "no word of three letters occurs on three pages" in capsys.readouterr().err
    assert not (tmp_path / "words.tsv").exists()
