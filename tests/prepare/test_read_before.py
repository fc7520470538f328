"""A page that was read once is not read again for other labels or another recipe, but for another engine or setting."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.document import Page
from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask
from layoutray.prepare.plan import make_plan
from layoutray.prepare.read_before import recall
from layoutray.prepare.recognise import OcrWordSource, open_document, recognise_page
from layoutray.prepare.record_codecs import PAGE_TASK
from layoutray.readers import DocumentRef, load
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.spilled import SpilledList
from tests.ocr.files import encoded, picture

pytestmark = pytest.mark.ocr
SETTINGS = Recognition(engine="tesserocr")


def planned(source: OcrWordSource, path: Path) -> PageTask:
    reference = DocumentRef(key=path.name, source=str(path), image=str(path), annotation="", split="")
    recipe = IngestRecipe(reader="folder", dev_share=0)
    return make_plan([open_document(source, reference)], recipe, set_splits=()).page_tasks[0]


def recalled(task: PageTask, output: Output, recognition: Recognition = SETTINGS) -> PageTask:
    tasks = SpilledList(PAGE_TASK)
    tasks.append(task)
    (found,) = recall(tasks, output, recognition)
    return found


@pytest.fixture
def read(tmp_path: Path) -> tuple[PageTask, Page, Output]:
    """A page task, its page, and the data set that has the page."""
    path, output = tmp_path / "a.png", Output(str(tmp_path / "out"))
    path.write_bytes(encoded(picture("Grand total 42"), "PNG"))
    with OcrWordSource(load("folder"), SETTINGS) as source:
        task = planned(source, path)
        page = recognise_page(source, task)
    assert isinstance(page, Page)
    return task, page, output


def test_a_page_of_other_labels_has_the_words_of_the_earlier_page(read: tuple[PageTask, Page, Output]) -> None:
    task, page, output = read
    labelled = replace(page, words=tuple(replace(word, tag="B-total", group=3) for word in page.words))
    output.commit([task], [labelled])
    with OcrWordSource(load("folder"), SETTINGS) as source:
        again = recognise_page(source, recalled(replace(task, page_id="of-other-labels"), output))
        assert source._recogniser.pid is None  # no engine ran
    assert isinstance(again, Page)
    assert [(word.text, word.tag, word.group) for word in again.words] == [
        (word.text, None, None) for word in page.words
    ]
    assert again.words[0].box.to_pixels(1000, 1000) == pytest.approx(page.words[0].box.to_pixels(1000, 1000), abs=1e-3)
    assert replace(again, words=()) == replace(page, words=())


@pytest.mark.parametrize(
    "changed",
    [{"version": "another"}, {"engine": "rapidocr"}, {"settings": "{}"}, {"words": "reviewed"}],
    ids=lambda changed: next(iter(changed)),
)
def test_words_of_another_engine_version_setting_or_person_are_not_taken(
    read: tuple[PageTask, Page, Output], changed: dict[str, str]
) -> None:
    task, page, output = read
    output.commit([task], [replace(page, provenance=replace(page.provenance, **changed))])
    assert not recalled(task, output).read_in


def test_other_settings_another_page_and_a_picture_beside_the_document_are_read(
    read: tuple[PageTask, Page, Output],
) -> None:
    task, page, output = read
    output.commit([task], [page])
    assert recalled(task, output).read_in
    assert not recalled(task, output, replace(SETTINGS, dpi=90)).read_in
    assert not recalled(replace(task, page=2), output).read_in
    output.commit([task], [replace(page, source="annotation.json")])
    assert not recalled(task, output).read_in
