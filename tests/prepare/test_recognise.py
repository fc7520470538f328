"""The word sources with a real engine in its child process; what fails is returned as a dead letter."""

import dataclasses
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from layoutray.document import Page
from layoutray.errors import DocumentError, MissingDependencyError, Reason
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract.settings import TesseractSettings
from layoutray.prepare.page_tasks import OpenedDocument, PageTask
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import OcrWordSource, WordSource, make_word_source, open_document, recognise_page
from layoutray.readers import DocumentRef, load
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.dead_letter import DeadLetter
from tests.formats.projects import exported, submitted, write
from tests.ocr.files import encoded, pdf, picture, typed
from tests.store.pages import page as made_page
from tests.store.pages import word

pytestmark = pytest.mark.ocr
SETTINGS = Recognition(engine="tesserocr")


@pytest.fixture(scope="module", params=["fast", "accurate"])
def ocr_words(request: pytest.FixtureRequest) -> Iterator[OcrWordSource]:
    with OcrWordSource(load("folder"), Recognition(profile=request.param)) as words:
        yield words


def opened(words: WordSource, path: Path) -> OpenedDocument:
    return open_document(words, DocumentRef(key=path.name, source=str(path), image=str(path), annotation="", split=""))


def page_tasks(words: WordSource, path: Path) -> tuple[PageTask, ...]:
    return make_plan([opened(words, path)], IngestRecipe(reader="folder", dev_share=0), set_splits=()).page_tasks


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def text(page: Page | DeadLetter) -> str:
    assert isinstance(page, Page), page
    return " ".join(word.text for word in page.words)


def test_a_picture_becomes_a_page_with_words(ocr_words: OcrWordSource, tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(picture("Grand total 42"), "PNG"))
    (task,) = page_tasks(ocr_words, path)
    page = recognise_page(ocr_words, task)
    assert text(page) == "Grand total 42"
    assert isinstance(page, Page)
    assert (page.doc_id, page.number, page.width, page.height) == (task.doc_id, 1, 1000, 700)
    assert (page.source, page.image, page.split) == (str(path), str(path), "train")
    assert page.provenance.words == "ocr"


def test_each_page_of_a_document_is_a_page_task(ocr_words: OcrWordSource, tmp_path: Path) -> None:
    tiff = encoded(picture("first"), "TIFF", save_all=True, append_images=[picture("second")])
    found = page_tasks(ocr_words, written(tmp_path, "a.tif", tiff))
    assert [text(recognise_page(ocr_words, task)) for task in found] == ["first", "second"]
    born_digital = pdf(typed("Dear customer", x=72, y=700), typed("Yours faithfully", x=72, y=700))
    found = page_tasks(ocr_words, written(tmp_path, "a.pdf", born_digital))
    assert [text(recognise_page(ocr_words, task)) for task in found] == ["Dear customer", "Yours faithfully"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.EMPTY_FILE),
        (b"Dear Sir", Reason.UNSUPPORTED_TYPE),
        (encoded(picture("x"), "PNG")[:40], Reason.UNREADABLE),
    ],
)
def test_a_file_that_cannot_be_opened_is_one_dead_letter(
    ocr_words: OcrWordSource, tmp_path: Path, data: bytes, reason: Reason
) -> None:
    found = opened(ocr_words, written(tmp_path, "a.png", data))
    assert found.document is None
    assert found.letter is not None
    assert (found.letter.reason, found.letter.stage, found.letter.page, found.letter.attempts) == (
        reason,
        "open",
        None,
        1,
    )


def test_a_file_that_is_gone_when_its_page_is_due_is_a_dead_letter(ocr_words: OcrWordSource, tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(picture("x"), "PNG"))
    (task,) = page_tasks(ocr_words, path)
    path.unlink()
    letter = recognise_page(ocr_words, task)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.page_id, letter.page, letter.attempts) == ("not_found", task.page_id, 1, 1)


def test_a_file_that_changes_while_its_pages_are_read_is_no_mixture(ocr_words: OcrWordSource, tmp_path: Path) -> None:
    path = written(tmp_path, "a.pdf", pdf(*(typed(f"Old {number}", x=72, y=700) for number in range(3))))
    first, second, third = page_tasks(ocr_words, path)
    assert text(recognise_page(ocr_words, first)) == "Old 0"
    path.write_bytes(pdf(*(typed(f"New {number}", x=72, y=700) for number in range(3))))
    assert text(recognise_page(ocr_words, second)) == "Old 1", "its bytes were read with the first page"
    with OcrWordSource(load("folder"), SETTINGS) as other:
        letter = recognise_page(other, third)
        assert [text(recognise_page(other, task)) for task in page_tasks(other, path)] == ["New 0", "New 1", "New 2"]
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.page, letter.attempts) == ("changed", 3, 1)
    assert "run the same ingest again" in letter.message


def unpacking(size: int) -> str:
    """Content that is as long as `size` once it is unpacked."""
    return zlib.compress(b"0 " * (size // 2), 9).decode("latin-1")


@pytest.mark.parametrize(
    ("hostile", "said"),
    [
        pytest.param(
            pdf("", page_entries="/MediaBox [0 0 1000000 1000000]"), ("too_large", 1), id="as large as a field"
        ),
        pytest.param(pdf("").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"), ("unreadable", 1), id="its own page"),
        pytest.param(
            pdf(unpacking(2**26)).replace(b"<<  /Length", b"<< /Filter /FlateDecode /Length"), "", id="64 MiB unpacked"
        ),
    ],
)
def test_hostile_pdf_files_cost_their_pages_alone(
    ocr_words: OcrWordSource, tmp_path: Path, hostile: bytes, said: object
) -> None:
    (task,) = page_tasks(ocr_words, written(tmp_path, "a.pdf", hostile))
    result = recognise_page(ocr_words, task)
    assert ((result.reason, result.attempts) if isinstance(result, DeadLetter) else text(result)) == said
    (after,) = page_tasks(ocr_words, written(tmp_path, "b.pdf", pdf(typed("Dear customer", x=72, y=700))))
    assert text(recognise_page(ocr_words, after)) == "Dear customer"


def test_a_page_that_takes_too_long_is_tried_twice_and_the_next_one_works(tmp_path: Path) -> None:
    slow = dataclasses.replace(SETTINGS, deadline=0.001)
    path = written(tmp_path, "a.png", encoded(picture("x", size=(3000, 3000)), "PNG"))
    with OcrWordSource(load("folder"), SETTINGS) as words:
        (task,) = page_tasks(words, path)
    with OcrWordSource(load("folder"), slow) as words:
        letter = recognise_page(words, task)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.retryable, letter.attempts) == ("timeout", True, 2)


class FailsOnce(OcrWordSource):
    """Its child is killed before the first page."""

    def page(self, task: PageTask) -> Page:
        if not hasattr(self, "failed"):
            self.failed = True
            raise DocumentError(Reason.WORKER_CRASH, "gone", stage="ocr")
        return super().page(task)


def test_a_crash_that_does_not_come_back_costs_nothing_but_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("layoutray.prepare.recognise.time", SimpleNamespace(sleep=pauses.append))
    with FailsOnce(load("folder"), SETTINGS) as words:
        (task,) = page_tasks(words, written(tmp_path, "a.png", encoded(picture("Grand total 42"), "PNG")))
        assert text(recognise_page(words, task)) == "Grand total 42"
    assert pauses == [1.0]


def test_the_child_process_of_a_word_source_ends_with_it(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    with OcrWordSource(load("folder"), SETTINGS) as words:
        opened(words, written(tmp_path, "a.png", encoded(picture("x"), "PNG")))
        started = set(psutil.Process().children()) - before
        assert len(started) == 1
    assert not started & set(psutil.Process().children())


def test_a_fault_of_our_own_costs_its_page_and_shows_where(tmp_path: Path) -> None:
    class Faulty(OcrWordSource):
        def page(self, task: PageTask) -> Page:
            raise KeyError("oops")

    with OcrWordSource(load("folder"), SETTINGS) as words:
        (task,) = page_tasks(words, written(tmp_path, "a.png", encoded(picture("x"), "PNG")))
    letter = recognise_page(Faulty(load("folder"), SETTINGS), task)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.attempts) == ("internal", 2)
    assert 'raise KeyError("oops")' in letter.trace


def test_what_concerns_every_page_stops_the_work(tmp_path: Path) -> None:
    missing = dataclasses.replace(SETTINGS, settings=TesseractSettings(language="xyz"))
    path = written(tmp_path, "a.png", encoded(picture("x"), "PNG"))
    with OcrWordSource(load("folder"), missing) as words:
        (task,) = page_tasks(words, path)
        with pytest.raises(MissingDependencyError, match="xyz"):
            recognise_page(words, task)


def test_annotated_words_are_taken_as_they_are(data_root: Path) -> None:
    with make_word_source("funsd", "annotation", SETTINGS) as words:
        reference = next(load("funsd").discover(str(data_root / "funsd")))
        found = open_document(words, reference)
        (task,) = make_plan([found], IngestRecipe(reader="funsd", dev_share=0), set_splits=()).page_tasks
        page = recognise_page(words, task)
    assert isinstance(page, Page)
    assert page.provenance.words == "annotation"
    assert page.words == load("funsd").read(reference).pages[0].words


def test_ocr_words_get_the_tags_of_the_annotation(data_root: Path) -> None:
    with make_word_source("funsd", "ocr", SETTINGS) as words:
        reference = next(load("funsd").discover(str(data_root / "funsd")))
        (task,) = make_plan(
            [open_document(words, reference)], IngestRecipe(reader="funsd", words="ocr", dev_share=0), set_splits=()
        ).page_tasks
        page = recognise_page(words, task)
    assert isinstance(page, Page)
    assert page.provenance.words == "ocr"
    tags = [word.tag for word in page.words]
    assert all(tag is not None for tag in tags)
    assert len({tag for tag in tags if tag != "O"}) > 2


def test_annotations_without_words_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(picture("x"), "PNG"))
    with make_word_source("folder", "annotation", SETTINGS) as words:
        found = opened(words, path)
    assert found.letter is not None
    assert found.letter.reason == "bad_annotation"
    assert "words = 'ocr'" in found.letter.message


def test_pages_that_nobody_has_annotated_are_dead_letters_of_their_own(tmp_path: Path) -> None:
    made = [made_page("d", number, word("x")) for number in (1, 2)]
    tasks = submitted(exported(made))
    tasks[0]["annotations"] = []
    (reference,) = load("label_studio").discover(str(write(tmp_path, tasks)))
    with make_word_source("label_studio", "annotation", SETTINGS) as words:
        found = make_plan(
            [open_document(words, reference)],
            IngestRecipe(reader="label_studio", words="annotation", dev_share=0),
            set_splits=(),
        ).page_tasks
        first, second = sorted((recognise_page(words, task) for task in found), key=lambda one: isinstance(one, Page))
    assert isinstance(first, DeadLetter)
    assert (first.reason, first.page, first.retryable) == ("not_annotated", 1, False)
    assert isinstance(second, Page)
    assert second.number == 2


def test_ocr_words_get_the_tags_of_their_own_page(tmp_path: Path) -> None:
    document = written(
        tmp_path, "a.pdf", pdf(typed("Dear customer", x=72, y=700), typed("Yours faithfully", x=72, y=700))
    )
    with OcrWordSource(load("folder"), SETTINGS) as words:
        seen = [words.page(task) for task in page_tasks(words, document)]
    signed = dataclasses.replace(
        seen[1], words=tuple(dataclasses.replace(one, tag="B-closing") for one in seen[1].words)
    )
    reader = load("label_studio", pictures=[str(tmp_path)])
    (reference,) = reader.discover(str(write(tmp_path / "project", submitted(exported([signed])))))
    with make_word_source("label_studio", "ocr", SETTINGS) as words:
        found = make_plan(
            [open_document(words, reference)], IngestRecipe(reader="label_studio", dev_share=0), set_splits=()
        ).page_tasks
        first, second = (recognise_page(words, task) for task in found)
    assert isinstance(first, DeadLetter)
    assert (first.reason, first.page) == ("bad_annotation", 1)
    assert isinstance(second, Page)
    assert [(one.text, one.tag) for one in second.words] == [("Yours", "B-closing"), ("faithfully", "B-closing")]
