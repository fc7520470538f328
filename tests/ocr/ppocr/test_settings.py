from dataclasses import replace

import pytest

from layoutray import config
from layoutray.errors import InputError
from layoutray.ocr.ppocr.settings import RapidocrSettings, alphabet_of
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract.settings import TesseractSettings


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


@pytest.mark.parametrize("key", ["certain", "sure"])
def test_a_confidence_is_a_share(key: str) -> None:
    with pytest.raises(InputError, match=rf"{key} is 1\.5; it must be from 0 to 1"):
        RapidocrSettings(**{key: 1.5})


def test_a_profile_sets_what_a_recipe_leaves_out() -> None:
    fast = config.build(Recognition, {"profile": "fast", "rapidocr": {"language": "deu", "certain": 0.5}}).settings
    assert (fast.detection, fast.certain, fast.sure, fast.language) == ("tiny", 0.5, 0.0, "deu")
    assert Recognition(profile="fast").settings == replace(fast, certain=0.7, language="eng")
    assert Recognition().settings == RapidocrSettings()
    assert config.build(Recognition, {"profile": "fast", "engine": "tesserocr"}).settings == TesseractSettings()
