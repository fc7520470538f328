import pytest

from layoutray.errors import InputError
from layoutray.ocr.ppocr.settings import alphabet_of


def test_letters_of_several_languages_in_both_cases() -> None:
    english, german = alphabet_of("eng"), alphabet_of("eng+deu")
    assert {*"Az09.,€ "} <= english
    assert not {*"äß×"} & english
    assert {*"äÄöÖüÜß"} <= german


def test_all_means_no_restriction() -> None:
    assert alphabet_of("all") == frozenset()


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'xyz' are not known; allowed: ces, dan, deu, .*'all'"):
        alphabet_of("eng+xyz")
