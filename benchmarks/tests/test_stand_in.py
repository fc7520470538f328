import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.measure import stand_in
from benchmarks.measure.environment import environment
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.ocr.page import recognise_page


@pytest.fixture
def program(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "a folder"
    folder.mkdir()
    with environment(stand_in.install(folder, 0.2, words=20)):
        yield


@pytest.fixture
def pictures(tmp_path: Path) -> list[bytes]:
    stand_in.write_pictures(str(tmp_path / "in"), 3)
    return [file.read_bytes() for file in sorted((tmp_path / "in").iterdir())]


@pytest.mark.usefixtures("program")
def test_every_picture_has_the_same_words(pictures: list[bytes]) -> None:
    pages = [recognise_page(data, 1, stand_in.READS) for data in pictures]
    assert [word.text for word in pages[0].words] == [f"word{number}" for number in range(20)]
    assert [word.line for word in pages[0].words][-1] == 2
    assert all(page.words == pages[0].words for page in pages)


@pytest.mark.usefixtures("program")
def test_the_failure_for_mode_0_is_not_retryable(pictures: list[bytes]) -> None:
    with pytest.raises(DocumentError, match="mode 0 finds no words") as caught:
        recognise_page(pictures[0], 1, stand_in.REFUSES)
    assert (caught.value.reason, caught.value.retryable) == (Reason.ENGINE_ERROR, False)


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("settings", [stand_in.READS, stand_in.REFUSES])
def test_a_page_takes_the_given_time(settings: stand_in.Recognition) -> None:
    assert 0.2 <= stand_in.seconds_of_page(settings, times=3) < 2


def test_pictures_differ(pictures: list[bytes]) -> None:
    assert len({hashlib.sha256(data).digest() for data in pictures}) == 3


def test_negative_seconds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"seconds is -1; it must be at least 0"):
        stand_in.install(tmp_path, -1)
