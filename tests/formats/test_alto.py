"""Pages go to ALTO and come back as they were, in whole pixels."""

from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Page
from layoutray.formats.alto import alto
from layoutray.readers.results.alto import pages_of
from tests.formats.made_pages import pages
from tests.formats.test_hocr import check_equal
from tests.store.pages import page, word


@given(first=pages(1), third=pages(3))
def test_pages_come_back(first: Page, third: Page) -> None:
    back = pages_of(alto([first, third]), "a.xml")
    for sent, received in zip([first, third], back, strict=True):
        check_equal(sent, received)
        assert (received.engine, received.version) == ("tesserocr", "5.5.4 eng:9c3f")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_makes_a_well_formed_file(text: str) -> None:
    root = ElementTree.fromstring(alto([page("d", 1, word(text), source=f"{text}.png")]))
    assert len([element for element in root.iter() if element.tag.endswith("}String")]) == 1


def test_each_page_names_its_own_engine() -> None:
    read = page("d", 1, word("x"))
    bought = replace(read, number=2, provenance=replace(read.provenance, engine="eye", version=""))
    printed = replace(read, number=3, provenance=replace(read.provenance, engine="", version=""))
    back = pages_of(alto([read, bought, printed]), "a.xml")
    assert [(one.engine, one.version) for one in back] == [("tesserocr", "5.5.4 eng:0"), ("eye", ""), ("", "")]
