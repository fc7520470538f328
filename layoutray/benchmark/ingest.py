"""What ingest's peers need for the same pages: the bare `tesseract` program under xargs, and a bare pool of our own OCR.

Both get what ingest has to work out for itself (which pages there are), and neither writes a data set.
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
from layoutray.ocr import tessdata
from layoutray.ocr.page import recognise_page
from layoutray.ocr.preprocess import preprocess
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Recognition


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds that each contender took for the same pages, one after the other."""

    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as `peer` ingest is, over the rounds of one run."""

    peer: str
    median: float
    least: float
    most: float


def measure(contenders: Mapping[str, Callable[[], float]], rounds: int, tell: Callable[[str], None]) -> list[Round]:
    """Let the contenders run in turn, `rounds` times, in an order that turns round each time.

    Args:
        contenders: each does all pages and returns the seconds that count.
        tell: is told each result.
    """
    results: list[Round] = []
    for number in range(rounds):
        names = list(contenders) if number % 2 == 0 else list(contenders)[::-1]
        seconds: dict[str, float] = {}
        for name in names:
            seconds[name] = contenders[name]()
            tell(f"round {number + 1} of {rounds}: {name} took {seconds[name]:.1f} s")
        results.append(Round(seconds))
    return results


def ratios(results: Sequence[Round], ours: str) -> list[Ratio]:
    """Speed of `ours` over each peer's."""
    found: list[Ratio] = []
    for peer in results[0].seconds:
        if peer != ours:
            each = [one.seconds[peer] / one.seconds[ours] for one in results]
            found.append(Ratio(peer, statistics.median(each), min(each), max(each)))
    return found


def write_preprocessed(pages: Sequence[tuple[Path, int]], settings: Recognition, folder: Path, processes: int) -> None:
    """Write each page (file and number) as the picture that our engine would see, for a program that has no preprocessing."""
    work = [(file, number, settings, folder / f"{index:05d}.pgm") for index, (file, number) in enumerate(pages)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.starmap(_write_preprocessed, work, chunksize=4)


def seconds_of_xargs(folder: Path, settings: Recognition, processes: int) -> float:
    """`xargs -P` with one `tesseract` for each .pgm file in `folder`, words as .tsv beside it.

    Raises:
        MissingDependencyError: when one of the programs is not installed.
    """
    for program in ("xargs", "tesseract"):
        if shutil.which(program) is None:
            raise MissingDependencyError(
                f"the program `{program}` is not on PATH; run `apt-get install findutils tesseract-ocr`"
            )
    files = sorted(str(path) for path in folder.glob("*.pgm"))
    tesseract = settings.tesseract
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
    """A `multiprocessing.Pool` that calls `recognise_page` on each page's bytes, from making the pool to the last result."""
    # A process of its own, where forking is safe: Ray's threads live in this one. Its start is not counted.
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
        found = sum(1 for _ in pool.imap_unordered(_recognise, work))
    assert found == len(pages)
    sender.send(time.perf_counter() - started)


def _recognise(work: tuple[Path, int, Recognition]) -> object:
    file, number, settings = work
    return recognise_page(file.read_bytes(), number, settings)


def _write_preprocessed(file: Path, number: int, settings: Recognition, target: Path) -> None:
    rendered = render_page(file.read_bytes(), number, settings)
    Image.fromarray(preprocess(rendered.image, settings.preprocessing).image).save(target)
