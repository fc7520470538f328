"""Papers are parted where their headings stand; the numbers of the shipped ones are of real text layers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutray.document import SUMMARY
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.ocr.settings import Recognition
from layoutray.prepare.recognise import make_word_source, open_document
from layoutray.readers import DocumentRef, Truth, load
from tests.ocr.files import pdf, typed
from tests.readers.native import only, put

READER = load("abstracts")
ABSTRACT = [
    "We read documents whose words have places on",
    "pages, and find that summaries need them as",
    "much as extraction does, on two sets of papers.",
]


def paper(*pages: Sequence[str]) -> bytes:
    return pdf(
        *("".join(typed(line, x=60, y=740 - 30 * row, size=16) for row, line in enumerate(lines)) for lines in pages)
    )


def read(folder: Path, *pages: Sequence[str]) -> Truth:
    put(folder / "a.pdf", paper(*pages))
    return only(READER, folder)


@pytest.mark.parametrize(
    ("heading", "introduction"),
    [
        (["Abstract"], "1 Introduction"),
        (["Abstract"], "Introduction"),
        (["ABSTRACT."], "I. INTRODUCTION"),
        (["Abstract. We say:"], "1. Introduction."),
    ],
)
def test_the_abstract_is_the_summary_and_the_pages_begin_after_the_introductions_heading(
    heading: list[str], introduction: str, tmp_path: Path
) -> None:
    truth = read(tmp_path, ["A paper", *heading, *ABSTRACT, introduction, "Documents are read."], ["By machines."])
    said = " ".join(["We say:"] * heading[0].endswith(":") + ABSTRACT)
    assert [(field.name, field.value) for field in truth.document.fields] == [(SUMMARY, said)]
    assert [(page.number, " ".join(word.text for word in page.words)) for page in truth.pages] == [
        (1, "Documents are read."),
        (2, "By machines."),
    ]
    assert truth.document.num_pages == 2
    assert truth.pages[0].image == truth.pages[0].source != ""
    assert truth.pages[0].words[0].box.y0 > 0.2


@pytest.mark.parametrize(
    "between", ["Keywords: words, places", "Key words and phrases: words", "Index Terms", "PACS numbers: 1", "Contents"]
)
def test_what_stands_between_abstract_and_introduction_is_neither(between: str, tmp_path: Path) -> None:
    truth = read(
        tmp_path,
        ["Abstract", *ABSTRACT, between, "1 Introduction 2", "2 Related work 3"],
        ["1 Introduction", "Documents are read."],
    )
    assert truth.document.fields[0].value == " ".join(ABSTRACT)
    assert [page.number for page in truth.pages] == [2]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["A paper", "1 Introduction", *ABSTRACT], "no heading of an abstract"),
        (["abstract nonsense is the introduction", *ABSTRACT], "no heading of an abstract"),
        (
            ["Abstract", *ABSTRACT, "An introduction to it"],
            "no heading of an introduction after the abstract",
        ),
        (
            ["Abstract", "Too short.", "1 Introduction", "Documents."],
            "2 words between the headings; an abstract has 20 to 600 words",
        ),
    ],
)
def test_a_paper_without_headings_is_refused(lines: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=why) as refused:
        read(tmp_path, lines)
    assert refused.value.reason is Reason.NOT_ANNOTATED


def test_words_that_lines_break_are_whole_again(tmp_path: Path) -> None:
    truth = read(
        tmp_path,
        [
            "Abstract",
            *ABSTRACT[:2],
            "much as extrac-",
            "tion does, as Navier-",
            "Stokes.",
            "1 Introduction",
            "Documents.",
        ],
    )
    assert truth.document.fields[0].value.endswith("much as extraction does, as Navier- Stokes.")


def test_a_folder_without_pdfs_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "Abstract")
    with pytest.raises(InputError, match=r"expected NAME\.pdf"):
        list(READER.discover(str(tmp_path)))


@pytest.mark.parametrize(
    ("paper", "first", "last", "words"),
    [
        ("107.tar_1804.07036.gz_Wu-Hu", "Coherence plays a critical", "more coherent and readable.", 185),
        ("65.tar_1803.03564.gz_faddeev271017", "We apply an integral", "a previous publication.", 80),
    ],
)
def test_a_shipped_paper_has_its_abstract(data_root: Path, paper: str, first: str, last: str, words: int) -> None:
    uri = str(data_root / f"docbank/DocBank_samples/{paper}_black.pdf")
    truth = READER.read(DocumentRef(key=uri, source=uri, image=uri, annotation="", split=""))
    (abstract,) = (field.value for field in truth.document.fields)
    assert abstract.startswith(first)
    assert abstract.endswith(last)
    assert len(abstract.split()) == pytest.approx(words, abs=3)


def test_the_recognition_of_the_recipe_is_used(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", paper(["Abstract", *ABSTRACT, "1 Introduction"], ["Documents are read."]))
    with make_word_source("abstracts", "annotation", Recognition(max_pages=1)) as words:
        (reference,) = READER.discover(str(tmp_path))
        opened = open_document(words, reference)
    assert opened.letter is not None
    assert (opened.letter.reason, "at most 1 are allowed" in opened.letter.message) == (Reason.TOO_LARGE, True)
