"""The lanes with a real engine in its child process; what fails is handed back as a dead letter."""

import dataclasses
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from layoutray.document import Page
from layoutray.errors import DocumentError, MissingDependencyError, Reason
from layoutray.ocr.settings import Recognition, TesseractSettings
from layoutray.prepare.page_tasks import OpenedDocument, PageTask
from layoutray.prepare.plan import plan_of
from layoutray.prepare.recognise import OcrLane, WordSource, lane, open_item, recognise_unit
from layoutray.readers import DocumentRef, load
from layoutray.recipe import IngestRecipe
from layoutray.store.dead_letter import DeadLetter
from tests.exchange.projects import exported, submitted, write
from tests.ocr.files import encoded, pdf, picture, typed
from tests.readers.native import put
from tests.store.pages import page as made_page
from tests.store.pages import word

pytestmark = pytest.mark.ocr
SETTINGS = Recognition()


@pytest.fixture(scope="module")
def by_ocr() -> Iterator[OcrLane]:
    with OcrLane(load("folder"), SETTINGS) as by:
        yield by


def opened(by: WordSource, path: Path) -> OpenedDocument:
    return open_item(by, DocumentRef(path.name, str(path), str(path), "", ""))


def units(by: WordSource, path: Path) -> tuple[PageTask, ...]:
    return plan_of([opened(by, path)], IngestRecipe("folder", dev_share=0), own=()).units


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def text(page: Page | DeadLetter) -> str:
    assert isinstance(page, Page), page
    return " ".join(word.text for word in page.words)


def test_a_picture_becomes_a_page_with_words(by_ocr: OcrLane, tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(picture("Grand total 42"), "PNG"))
    (unit,) = units(by_ocr, path)
    page = recognise_unit(by_ocr, unit)
    assert text(page) == "Grand total 42"
    assert isinstance(page, Page)
    assert (page.doc_id, page.number, page.width, page.height) == (unit.doc_id, 1, 1000, 700)
    assert (page.source, page.image, page.split) == (str(path), str(path), "train")
    assert page.provenance.words == "ocr"


def test_each_page_of_a_document_is_a_unit(by_ocr: OcrLane, tmp_path: Path) -> None:
    tiff = encoded(picture("first"), "TIFF", save_all=True, append_images=[picture("second")])
    found = units(by_ocr, written(tmp_path, "a.tif", tiff))
    assert [text(recognise_unit(by_ocr, unit)) for unit in found] == ["first", "second"]
    born_digital = pdf(typed("Dear customer", x=72, y=700), typed("Yours faithfully", x=72, y=700))
    found = units(by_ocr, written(tmp_path, "a.pdf", born_digital))
    assert [text(recognise_unit(by_ocr, unit)) for unit in found] == ["Dear customer", "Yours faithfully"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.EMPTY_FILE),
        (b"Dear Sir", Reason.UNSUPPORTED_TYPE),
        (encoded(picture("x"), "PNG")[:40], Reason.UNREADABLE),
    ],
)
def test_a_file_that_cannot_be_opened_is_one_dead_letter(
    by_ocr: OcrLane, tmp_path: Path, data: bytes, reason: Reason
) -> None:
    found = opened(by_ocr, written(tmp_path, "a.png", data))
    assert found.document is None
    assert found.letter is not None
    assert (found.letter.reason, found.letter.stage, found.letter.page, found.letter.attempts) == (
        reason,
        "open",
        None,
        1,
    )


def test_a_file_that_is_gone_when_its_page_is_due_is_a_dead_letter(by_ocr: OcrLane, tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(picture("x"), "PNG"))
    (unit,) = units(by_ocr, path)
    path.unlink()
    letter = recognise_unit(by_ocr, unit)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.page_id, letter.page, letter.attempts) == ("not_found", unit.page_id, 1, 1)


def test_a_file_that_changes_while_its_pages_are_read_is_no_mixture(by_ocr: OcrLane, tmp_path: Path) -> None:
    path = written(tmp_path, "a.pdf", pdf(*(typed(f"Old {number}", x=72, y=700) for number in range(3))))
    first, second, third = units(by_ocr, path)
    assert text(recognise_unit(by_ocr, first)) == "Old 0"
    path.write_bytes(pdf(*(typed(f"New {number}", x=72, y=700) for number in range(3))))
    assert text(recognise_unit(by_ocr, second)) == "Old 1", "its bytes were read with the first page"
    with OcrLane(load("folder"), SETTINGS) as other:
        letter = recognise_unit(other, third)
        assert [text(recognise_unit(other, unit)) for unit in units(other, path)] == ["New 0", "New 1", "New 2"]
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
    by_ocr: OcrLane, tmp_path: Path, hostile: bytes, said: object
) -> None:
    (unit,) = units(by_ocr, written(tmp_path, "a.pdf", hostile))
    result = recognise_unit(by_ocr, unit)
    assert ((result.reason, result.attempts) if isinstance(result, DeadLetter) else text(result)) == said
    (after,) = units(by_ocr, written(tmp_path, "b.pdf", pdf(typed("Dear customer", x=72, y=700))))
    assert text(recognise_unit(by_ocr, after)) == "Dear customer"


def test_a_page_that_takes_too_long_is_tried_twice_and_the_next_one_works(tmp_path: Path) -> None:
    slow = dataclasses.replace(SETTINGS, tesseract=TesseractSettings(deadline=0.001))
    path = written(tmp_path, "a.png", encoded(picture("x", size=(3000, 3000)), "PNG"))
    with OcrLane(load("folder"), SETTINGS) as by:
        (unit,) = units(by, path)
    with OcrLane(load("folder"), slow) as by:
        letter = recognise_unit(by, unit)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.retryable, letter.attempts) == ("timeout", True, 2)


class FailsOnce(OcrLane):
    """Its child is killed before the first page."""

    def page(self, unit: PageTask) -> Page:
        if not hasattr(self, "failed"):
            self.failed = True
            raise DocumentError(Reason.WORKER_CRASH, "gone", stage="ocr")
        return super().page(unit)


def test_a_crash_that_does_not_come_back_costs_nothing_but_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("layoutray.prepare.recognise.time", SimpleNamespace(sleep=pauses.append))
    with FailsOnce(load("folder"), SETTINGS) as by:
        (unit,) = units(by, written(tmp_path, "a.png", encoded(picture("Grand total 42"), "PNG")))
        assert text(recognise_unit(by, unit)) == "Grand total 42"
    assert pauses == [1.0]


def test_the_child_of_a_lane_ends_with_it(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    with OcrLane(load("folder"), SETTINGS) as by:
        opened(by, written(tmp_path, "a.png", encoded(picture("x"), "PNG")))
        started = set(psutil.Process().children()) - before
        assert len(started) == 1
    assert not started & set(psutil.Process().children())


def test_a_fault_of_our_own_costs_its_page_and_shows_where(tmp_path: Path) -> None:
    class Faulty(OcrLane):
        def page(self, unit: PageTask) -> Page:
            raise KeyError("oops")

    with OcrLane(load("folder"), SETTINGS) as by:
        (unit,) = units(by, written(tmp_path, "a.png", encoded(picture("x"), "PNG")))
    letter = recognise_unit(Faulty(load("folder"), SETTINGS), unit)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.attempts) == ("internal", 2)
    assert 'raise KeyError("oops")' in letter.trace


def test_what_concerns_every_page_stops_the_work(tmp_path: Path) -> None:
    missing = dataclasses.replace(SETTINGS, tesseract=TesseractSettings(language="xyz"))
    path = written(tmp_path, "a.png", encoded(picture("x"), "PNG"))
    with OcrLane(load("folder"), missing) as by:
        (unit,) = units(by, path)
        with pytest.raises(MissingDependencyError, match="xyz"):
            recognise_unit(by, unit)


def test_annotated_words_are_taken_as_they_are(data_root: Path) -> None:
    with lane("funsd", "annotation", SETTINGS) as by:
        item = next(load("funsd").discover(str(data_root / "funsd")))
        found = open_item(by, item)
        (unit,) = plan_of([found], IngestRecipe("funsd", dev_share=0), own=()).units
        page = recognise_unit(by, unit)
    assert isinstance(page, Page)
    assert page.provenance.words == "annotation"
    assert page.words == load("funsd").read(item).pages[0].words


def test_ocr_words_get_the_tags_of_the_annotation(data_root: Path) -> None:
    with lane("funsd", "ocr", SETTINGS) as by:
        item = next(load("funsd").discover(str(data_root / "funsd")))
        (unit,) = plan_of([open_item(by, item)], IngestRecipe("funsd", words="ocr", dev_share=0), own=()).units
        page = recognise_unit(by, unit)
    assert isinstance(page, Page)
    assert page.provenance.words == "ocr"
    tags = [word.tag for word in page.words]
    assert all(tag is not None for tag in tags)
    assert len({tag for tag in tags if tag != "O"}) > 2


def test_ocr_words_get_the_labels_of_the_regions_that_they_stand_in(tmp_path: Path) -> None:
    written(tmp_path, "a.jpg", encoded(picture("Grand total 42"), "JPEG"))
    box = [0, 0, 1000, 700]
    regions = [{"image_id": 1, "category_id": 1, "bbox": box}]
    image = {"id": 1, "file_name": "a.jpg", "width": 1000, "height": 700}
    for annotations, tag in ((regions, "text"), ([], None)):
        put(
            tmp_path / "train.json",
            {"images": [image], "annotations": annotations, "categories": [{"id": 1, "name": "text"}]},
        )
        (item,) = load("publaynet").discover(str(tmp_path))
        with lane("publaynet", "ocr", SETTINGS) as by:
            (unit,) = plan_of([open_item(by, item)], IngestRecipe("publaynet", dev_share=0), own=()).units
            page = recognise_unit(by, unit)
        assert text(page) == "Grand total 42"
        assert isinstance(page, Page)
        assert {word.tag for word in page.words} == {tag}


@pytest.mark.parametrize("reader", ["folder", "publaynet"])
def test_annotations_without_words_are_refused_with_what_to_do(tmp_path: Path, reader: str) -> None:
    path = written(tmp_path, "a.png", encoded(picture("x"), "PNG"))
    with lane(reader, "annotation", SETTINGS) as by:
        found = opened(by, path)
    assert found.letter is not None
    assert found.letter.reason == "bad_annotation"
    assert "words = 'ocr'" in found.letter.message


def test_pages_that_nobody_has_annotated_are_dead_letters_of_their_own(tmp_path: Path) -> None:
    made = [made_page("d", number, word("x")) for number in (1, 2)]
    tasks = submitted(exported(made))
    tasks[0]["annotations"] = []
    (item,) = load("label_studio").discover(str(write(tmp_path, tasks)))
    with lane("label_studio", "annotation", SETTINGS) as by:
        found = plan_of(
            [open_item(by, item)], IngestRecipe("label_studio", words="annotation", dev_share=0), own=()
        ).units
        first, second = sorted((recognise_unit(by, unit) for unit in found), key=lambda one: isinstance(one, Page))
    assert isinstance(first, DeadLetter)
    assert (first.reason, first.page, first.retryable) == ("not_annotated", 1, False)
    assert isinstance(second, Page)
    assert second.number == 2


def test_ocr_words_get_the_tags_of_their_own_page(tmp_path: Path) -> None:
    document = written(
        tmp_path, "a.pdf", pdf(typed("Dear customer", x=72, y=700), typed("Yours faithfully", x=72, y=700))
    )
    with OcrLane(load("folder"), SETTINGS) as by:
        seen = [by.page(unit) for unit in units(by, document)]
    signed = dataclasses.replace(
        seen[1], words=tuple(dataclasses.replace(one, tag="B-closing") for one in seen[1].words)
    )
    (item,) = load("label_studio").discover(str(write(tmp_path / "project", submitted(exported([signed])))))
    with lane("label_studio", "ocr", SETTINGS) as by:
        found = plan_of([open_item(by, item)], IngestRecipe("label_studio", dev_share=0), own=()).units
        first, second = (recognise_unit(by, unit) for unit in found)
    assert isinstance(first, DeadLetter)
    assert (first.reason, first.page) == ("bad_annotation", 1)
    assert isinstance(second, Page)
    assert [(one.text, one.tag) for one in second.words] == [("Yours", "B-closing"), ("faithfully", "B-closing")]
