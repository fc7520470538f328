from collections import Counter
from dataclasses import replace

from layoutray.document.reading_errors import ReadingErrors, word_pairs
from tests.store.pages import page, word

MANY = 4000


def learnt(**readings: int) -> ReadingErrors:
    """Errors of an OCR that reads `TOTAL:` as stated, so many times each."""
    errors = ReadingErrors()
    for read, times in readings.items():
        for _ in range(times):
            errors.learn("total", read)
    return errors


def letters(errors: ReadingErrors, text: str) -> Counter[str]:
    """How often each text was read for `text`, on many pages."""
    return Counter(errors.applied(page("d", number, word(text)), seed=1).words[0].text for number in range(MANY))


def test_characters_are_misread_as_often_as_they_were() -> None:
    errors = learnt(total=70, tota1=20, tota=5, totall=5)
    assert errors.characters == 500
    assert abs(errors.rate - 30 / 500) < 1e-9
    read = letters(errors, "L")
    assert read.keys() == {"L", "1", "LL"}, "a word never becomes empty, and keeps its case"
    assert abs(read["1"] / MANY - 0.2) < 0.03
    assert abs(read["LL"] / MANY - 0.05) < 0.02
    assert letters(errors, "al").keys() == {"al", "a1", "a", "all"}
    assert letters(errors, "xyz") == {"xyz": MANY}, "unknown characters are read right"


def test_texts_of_other_words_and_rare_characters_teach_nothing() -> None:
    errors = learnt(cash=50)
    assert errors.characters == 0
    assert errors.rate == 0
    assert letters(learnt(tota1=19), "l") == {"l": MANY}


def test_errors_depend_on_the_seed_and_the_page_alone() -> None:
    errors = learnt(total=50, tota1=50)
    of = page("d", 1, *(word("l") for _ in range(40)))
    assert errors.applied(of, seed=1) == errors.applied(of, seed=1)
    assert errors.applied(of, seed=1) != errors.applied(of, seed=2)
    assert errors.applied(of, seed=1).words != errors.applied(replace(of, number=2), seed=1).words


def test_parts_of_a_split_word_are_compared_with_the_whole_word() -> None:
    parts = [word("TAL"), word("TO", box=replace(word("").box, x0=0.1)), word("CASH")]
    assert list(word_pairs([word("TOTAL")], parts, [0, 0, -1])) == [("TOTAL", "TOTAL")]
