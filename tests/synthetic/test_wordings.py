"""The wordings of generated pages: every kind in every language, and no wording for two kinds."""

from collections import Counter

from layoutray.synthetic.wordings import LANGUAGES, wordings


def test_every_kind_has_wordings_in_every_language() -> None:
    for kind, by_language in wordings().items():
        assert set(by_language) == set(LANGUAGES), kind
        for language, found in by_language.items():
            assert found, (kind, language)
            assert len(set(found)) == len(found), (kind, language)
            assert all(wording == " ".join(wording.split()) for wording in found), (kind, language)


def test_a_wording_names_one_kind() -> None:
    for language in LANGUAGES:
        found = Counter(wording.lower() for kind in wordings().values() for wording in kind[language])
        assert {wording for wording, count in found.items() if count > 1} == set(), language
