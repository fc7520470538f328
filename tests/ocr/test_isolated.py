import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from layoutray.errors import DocumentError, MissingDependencyError, Reason
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Profile, Recognition
from layoutray.ocr.tesseract.settings import TesseractSettings
from tests.ocr.files import encoded, pdf, picture, typed

pytestmark = pytest.mark.ocr

SETTINGS = Recognition(engine="tesserocr")
GOOD = encoded(picture("everything works today"), "PNG")


@pytest.fixture(scope="module")
def slow() -> bytes:
    """A page that keeps Tesseract busy for many seconds."""
    noise = np.random.default_rng(0).integers(0, 255, (2500, 1200), dtype=np.uint8)
    return encoded(Image.fromarray(noise), "PNG")


@pytest.fixture
def recogniser() -> Iterator[IsolatedRecogniser]:
    with IsolatedRecogniser(SETTINGS) as made:
        yield made


def texts(recogniser: IsolatedRecogniser) -> str:
    return " ".join(word.text for word in recogniser.recognise(GOOD, 1).words)


def send_while_working(recogniser: IsolatedRecogniser, number: signal.Signals, data: bytes) -> DocumentError:
    """The error of a page during which the child gets signal `number`."""
    texts(recogniser)
    assert recogniser.pid
    timer = threading.Timer(0.5, os.kill, (recogniser.pid, number))
    timer.start()
    with pytest.raises(DocumentError) as caught:
        recogniser.recognise(data, 1)
    timer.join()
    return caught.value


def test_the_child_answers_as_a_direct_call_does(recogniser: IsolatedRecogniser) -> None:
    assert recogniser.recognise(GOOD, 1) == recognise_page(GOOD, 1, SETTINGS)
    assert recogniser.count_pages(GOOD) == 1


def test_nothing_is_started_before_the_first_page_and_one_child_does_them_all() -> None:
    recogniser = IsolatedRecogniser(SETTINGS)
    assert recogniser.pid is None
    texts(recogniser)
    first = recogniser.pid
    texts(recogniser)
    assert recogniser.pid == first
    recogniser.close()
    assert recogniser.pid is None
    assert first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_child_that_holds_too_much_is_ended_after_its_page(recogniser: IsolatedRecogniser) -> None:
    document = pdf(typed("first", x=60, y=700), typed("second", x=60, y=700))
    with IsolatedRecogniser(SETTINGS, max_idle_memory=1 << 20) as limited:
        for number in (1, 2):
            assert limited.recognise(document, number) == recogniser.recognise(document, number)
            assert limited.pid is None
    assert recogniser.pid is not None, "a page does not make one grow too large"


def test_pages_of_one_file_and_of_another_are_not_mixed_up(recogniser: IsolatedRecogniser) -> None:
    one = pdf(typed("first", x=60, y=700), typed("second", x=60, y=700))
    other = pdf(typed("third", x=60, y=700), typed("fourth", x=60, y=700))
    asked = [(one, 1), (one, 2), (other, 1), (bytes(bytearray(other)), 2), (one, 2)]
    assert [recogniser.recognise(data, number).words[0].text for data, number in asked] == [
        "first",
        "second",
        "third",
        "fourth",
        "second",
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", Reason.EMPTY_FILE), (b"no picture", Reason.UNSUPPORTED_TYPE), (GOOD[:200], Reason.UNREADABLE)],
)
def test_errors_come_back_with_their_reason(recogniser: IsolatedRecogniser, data: bytes, reason: Reason) -> None:
    texts(recogniser)
    child = recogniser.pid
    for ask in (lambda: recogniser.recognise(data, 1), lambda: recogniser.recognise(data, 1)):
        with pytest.raises(DocumentError) as caught:
            ask()
        assert caught.value.reason is reason
    assert texts(recogniser) == "everything works today"
    assert recogniser.pid == child, "a bad page does not cost the child"


@pytest.mark.parametrize(
    "number", [signal.SIGSEGV, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGKILL, signal.SIGABRT))]
)
def test_a_crash_costs_one_page_and_names_the_signal(
    recogniser: IsolatedRecogniser, number: signal.Signals, slow: bytes
) -> None:
    error = send_while_working(recogniser, number, slow)
    assert error.reason is Reason.WORKER_CRASH
    assert number.name in str(error)
    assert error.retryable
    assert texts(recogniser) == "everything works today"


def test_a_hang_costs_one_page_and_its_deadline(slow: bytes) -> None:
    with IsolatedRecogniser(replace(SETTINGS, deadline=3)) as recogniser:
        texts(recogniser)  # starts the child, whose imports take seconds on a busy machine
        started = time.monotonic()
        error = send_while_working(recogniser, signal.SIGSTOP, slow)
        assert time.monotonic() - started < 8
        assert error.reason is Reason.TIMEOUT
        assert "3 s" in str(error)
        assert texts(recogniser) == "everything works today"


def test_a_child_that_died_between_pages_costs_one_page_at_most(recogniser: IsolatedRecogniser) -> None:
    texts(recogniser)
    assert recogniser.pid
    os.kill(recogniser.pid, signal.SIGKILL)
    time.sleep(0.2)
    with pytest.raises(DocumentError) as caught:
        texts(recogniser)
    assert caught.value.reason is Reason.WORKER_CRASH
    assert texts(recogniser) == "everything works today"


@pytest.mark.slow
def test_programs_that_the_child_started_end_with_it(slow: bytes) -> None:
    settings = Recognition(engine="pytesseract", deadline=10)
    with IsolatedRecogniser(settings) as recogniser:
        texts(recogniser)
        group = recogniser.pid
        assert group
        with pytest.raises(DocumentError):
            recogniser.recognise(slow, 1)
        time.sleep(0.2)
        assert not [stat for stat in Path("/proc").glob("[0-9]*/stat") if _group_of(stat) == group]


def _group_of(stat: Path) -> int:
    try:
        state, _, group, *_ = stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else int(group)


@pytest.mark.parametrize("profile", ["fast", pytest.param("accurate", marks=pytest.mark.slow)])
def test_too_little_memory_is_named(profile: Profile) -> None:
    with IsolatedRecogniser(Recognition(profile=profile)) as recogniser:
        assert texts(recogniser) == "everything works today"
        scan = encoded(picture("everything works today", size=(1200, 900)), "PNG")
        recogniser.recognise(scan, 1)  # loads the models
        assert recogniser.pid
        used = int(Path(f"/proc/{recogniser.pid}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(recogniser.pid, resource.RLIMIT_AS, (used + (150 << 20), resource.RLIM_INFINITY))
        large = encoded(Image.new("RGB", (9000, 9000), "white"), "PNG", compress_level=1)
        with pytest.raises(DocumentError) as caught:
            recogniser.recognise(large, 1)
        assert caught.value.reason is Reason.OUT_OF_MEMORY
        assert texts(recogniser) == "everything works today"


def test_what_concerns_every_page_is_no_page_error() -> None:
    with (
        IsolatedRecogniser(replace(SETTINGS, settings=TesseractSettings(language="xqq"))) as recogniser,
        pytest.raises(MissingDependencyError, match="xqq"),
    ):
        recogniser.recognise(GOOD, 1)


def test_callers_in_several_threads_take_turns(recogniser: IsolatedRecogniser) -> None:
    pages = [pdf(typed(f"caller{number}", x=60, y=700)) for number in range(8)]
    found: dict[int, str] = {}

    def call(number: int) -> None:
        found[number] = recogniser.recognise(pages[number], 1).words[0].text

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"caller{number}" for number in range(8)}


def test_the_child_ends_with_its_parent() -> None:
    recogniser = IsolatedRecogniser(SETTINGS)
    texts(recogniser)
    child = recogniser._child  # pyright: ignore[reportPrivateUsage]
    assert child
    child.channel.close()  # what the system does to the sockets of a process that is gone
    assert child.process.wait(5) == 0
    recogniser.close()
