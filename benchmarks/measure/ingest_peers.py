"""Baselines for the speed of ingest: the `tesseract` program under xargs, and a process pool of our OCR.

Both baselines are given the list of pages, which ingest has to find out, and neither writes a data set.
"""

import multiprocessing
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from PIL import Image

from layoutray.errors import MissingDependencyError
from layoutray.ocr.page import recognise_page
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract import tessdata
from layoutray.ocr.tesseract.preprocess import preprocess
from layoutray.ocr.tesseract.settings import TesseractSettings


@dataclass(frozen=True, slots=True)
class TimedRound:
    """Seconds that each contender took for the same pages, one contender after the other."""

    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SpeedRatio:
    """Speed of ingest divided by the speed of `peer`, over the rounds of one run."""

    peer: str
    median: float
    least: float
    most: float


def time_contenders(
    contenders: Mapping[str, Callable[[], float]], rounds: int, report: Callable[[str], None]
) -> list[TimedRound]:
    """Run the contenders in turn, `rounds` times; every other round runs in reverse order.

    Args:
        contenders: each processes all pages and returns the measured seconds.
        report: called with a line of text after each measurement.
    """
    results: list[TimedRound] = []
    for number in range(rounds):
        names = list(contenders) if number % 2 == 0 else list(contenders)[::-1]
        seconds: dict[str, float] = {}
        for name in names:
            seconds[name] = contenders[name]()
            report(f"round {number + 1} of {rounds}: {name} took {seconds[name]:.1f} s")
        results.append(TimedRound(seconds))
    return results


def speed_ratios(results: Sequence[TimedRound], ours: str) -> list[SpeedRatio]:
    """Speed of the contender `ours` relative to each other contender."""
    ratios: list[SpeedRatio] = []
    for peer in results[0].seconds:
        if peer != ours:
            by_round = [result.seconds[peer] / result.seconds[ours] for result in results]
            ratios.append(SpeedRatio(peer, statistics.median(by_round), min(by_round), max(by_round)))
    return ratios


def write_preprocessed(pages: Sequence[tuple[Path, int]], settings: Recognition, folder: Path, processes: int) -> None:
    """Write each page (file and page number) as the preprocessed picture that the engine `tesserocr` gives Tesseract.

    The bare `tesseract` program has no such preprocessing.
    """
    work = [(file, number, settings, folder / f"{index:05d}.pgm") for index, (file, number) in enumerate(pages)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.starmap(_write_preprocessed, work, chunksize=4)


def seconds_of_xargs(folder: Path, settings: Recognition, processes: int) -> float:
    """Time `xargs -P` with one `tesseract` process per .pgm file in `folder`; writes a .tsv file of words beside each.

    Raises:
        MissingDependencyError: when `xargs` or `tesseract` is not installed.
    """
    for program in ("xargs", "tesseract"):
        if shutil.which(program) is None:
            raise MissingDependencyError(
                f"the program `{program}` is not on PATH; run `apt-get install findutils tesseract-ocr`"
            )
    files = sorted(str(path) for path in folder.glob("*.pgm"))
    tesseract: TesseractSettings = settings.settings
    options = [
        "--tessdata-dir",
        str(tessdata.find_folder(tesseract.language)),
        "-l",
        tesseract.language,
        "--psm",
        str(tesseract.psm),
        "tsv",
    ]
    started = time.perf_counter()
    subprocess.run(
        ["xargs", "-0", "-P", str(processes), "-I", "{}", "tesseract", "{}", "{}", *options],
        input="\0".join(files),
        text=True,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},
        check=True,
    )
    return time.perf_counter() - started


def seconds_of_pool(pages: Sequence[tuple[Path, int]], settings: Recognition, processes: int) -> float:
    """Time a `multiprocessing.Pool` that calls `recognise_page` on each page, from its creation to the last result."""
    # The pool forks. This process may run Ray's threads, so the pool is created in a spawned process, whose start is
    # not part of the measured time.
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    timed = spawn.Process(target=_time_pool, args=(list(pages), settings, processes, sender))
    timed.start()
    sender.close()
    try:
        return float(receiver.recv())
    finally:
        timed.join()


def _time_pool(pages: Sequence[tuple[Path, int]], settings: Recognition, processes: int, sender: Connection) -> None:
    os.environ["OMP_THREAD_LIMIT"] = "1"
    work = [(file, number, settings) for file, number in pages]
    started = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        recognised = sum(1 for _ in pool.imap_unordered(_recognise, work))
    assert recognised == len(pages)
    sender.send(time.perf_counter() - started)


def _recognise(work: tuple[Path, int, Recognition]) -> object:
    file, number, settings = work
    return recognise_page(file.read_bytes(), number, settings)


def _write_preprocessed(file: Path, number: int, settings: Recognition, target: Path) -> None:
    rendered = render_page(file.read_bytes(), number, settings)
    Image.fromarray(preprocess(rendered.image, settings.settings.preprocessing, settings.max_pixels).image).save(target)
