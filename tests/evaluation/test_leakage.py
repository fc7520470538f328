"""Held-out documents that training has shown already, or all but shown."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from layoutray.document.signals import TEMPLATE_WORDS
from layoutray.evaluation import leakage
from layoutray.evaluation.leakage import Known, document_words, known
from layoutray.store.data_set import DataSet
from tests.jobs import pages, write_pages

SHOP = [
    *("Kedai", "Runcit", "Ah", "Seng", "12", "Jalan", "Besar", "Invoice", "881", "Milk", "4.50"),
    "Total",
    "6.70",
    "Thank",
    "you",
]
OTHER = ("another", "text", "altogether", "with", "nothing", "of", "the", "first", "one")


def of(words: list[str]) -> Known:
    return known({"new": words}, {"old": SHOP})


def test_a_copy_is_known_by_its_bytes_or_its_text() -> None:
    assert known({"old": []}, {"old": SHOP}).copies == {"old"}
    assert of([word.upper() for word in SHOP]).copies == {"new"}
    assert of(" ".join(SHOP).replace("6.70", "6 . 70").split()).copies == {"new"}
    assert of([word.replace("881", "882") for word in SHOP]) == Known(frozenset(), frozenset({"new"}))


def test_a_template_is_known_by_its_header_or_by_half_of_its_runs_of_words() -> None:
    assert of([*SHOP[:5], *OTHER]).templates == set(), "without the number these are four words"
    assert of([*SHOP[:4], "99", SHOP[5], *OTHER]).templates == {"new"}
    assert of(["Welcome", *SHOP]).templates == {"new"}
    assert of([*OTHER, *SHOP[7:]]).templates == set()


def test_documents_without_words_share_no_template() -> None:
    nothing = known({"new": [], "digits": ["12", "-"]}, {"old": [], "older": ["13"]})
    assert nothing == Known(frozenset(), frozenset())


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=9), max_size=4), st.lists(st.sampled_from("abc"), max_size=9))
def test_similarity_is_the_jaccard_index(documents: list[list[str]], words: list[str]) -> None:
    def shingles(of: list[str]) -> set[str]:
        return {"".join(of[at : at + leakage.SHINGLE_WORDS]) for at in range(len(of) - leakage.SHINGLE_WORDS + 1)}

    expected = [
        len(shingles(words) & shingles(one)) / max(len(shingles(words) | shingles(one)), 1) for one in documents
    ]
    headers = [one[:TEMPLATE_WORDS] for one in documents if one]
    alike = words[:TEMPLATE_WORDS] in headers or max(expected, default=0) >= leakage.SAME_TEMPLATE
    found = known({"new": words}, {f"old {number}": one for number, one in enumerate(documents)})
    assert (found.templates == {"new"}) is alike


def test_texts_are_read_in_page_order(tmp_path: Path) -> None:
    made = pages(3)
    write_pages(tmp_path, made)
    splits = {page.split for page in made}
    assert document_words(DataSet(str(tmp_path)), splits) == {
        page.doc_id: [word.text for word in page.words] for page in made
    }
