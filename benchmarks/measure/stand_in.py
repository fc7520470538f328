"""A substitute for the `tesseract` program that takes a given time and returns the same words for every picture.

Because the time of OCR is known, the rest of an ingest's time is its overhead. The program sleeps, so that workers on
one machine do not compete for cores; on separate nodes they would not either.
"""

import contextlib
import os
import statistics
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from layoutray.errors import DocumentError, InputError
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract.settings import Preprocessing, TesseractSettings
from layoutray.store import sources

READS = Recognition(engine="pytesseract", settings=TesseractSettings(preprocessing=Preprocessing(width=0, clahe=0)))
"""Recognition that calls the program and does little preprocessing."""
REFUSES = Recognition(engine="pytesseract", settings=replace(READS.settings, psm=0))
"""Recognition that turns every page into a dead letter: the program fails for page segmentation mode 0."""

_PROGRAM = """#!/bin/sh
case "$*" in
    *--version*) echo "tesseract 5.0.0" ;;
    *"--psm 0"*) sleep {seconds}; echo "mode 0 finds no words" >&2; exit 1 ;;
    *) sleep {seconds}; cp "{words}" "$2.tsv" ;;
esac
"""
_SIDE = 64
"""Width and height of a picture in pixels."""


def install(folder: Path, seconds: float, words: int = 200) -> dict[str, str]:
    """Write the program, which takes `seconds` and returns `words` words for a picture, into the empty `folder`.

    Returns:
        Environment variables with which the program and its language data are used instead of Tesseract.

    Raises:
        InputError: when `seconds` is negative.
    """
    if seconds < 0:
        raise InputError(f"seconds is {seconds}; it must be at least 0")
    words_file = folder / "words.tsv"
    rows = (f"5\t1\t1\t1\t{n // 8}\t{n % 8}\t{n % 8 * 8}\t{n // 8 % 8 * 8}\t6\t6\t90\tword{n}" for n in range(words))
    words_file.write_text("\n".join(("level\tpage_num", *rows)))
    program = folder / "tesseract"
    program.write_text(_PROGRAM.format(seconds=seconds, words=words_file))
    program.chmod(0o755)
    (folder / "eng.traineddata").touch()
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "TESSDATA_PREFIX": str(folder)}


def write_pictures(folder: str, count: int) -> None:
    """Write `count` small pictures with different bytes into a folder or below an s3:// address."""
    files, path = sources.filesystem(folder)
    files.create_dir(path, recursive=True)
    for number in range(count):
        with files.open_output_stream(f"{path}/{number:06d}.png") as stream:
            stream.write(_picture(number))


def seconds_of_page(settings: Recognition, times: int = 5) -> float:
    """Seconds of `recognise_page` for a picture in this process, median over `times` calls."""
    data, taken = _picture(0), list[float]()
    for _ in range(times + 1):  # the first call also loads libraries
        started = time.perf_counter()
        with contextlib.suppress(DocumentError):
            recognise_page(data, 1, settings)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def _picture(number: int) -> bytes:
    noise = np.random.default_rng(number).integers(0, 256, (_SIDE, _SIDE), np.uint8)
    stream = BytesIO()
    Image.fromarray(noise).save(stream, "PNG")
    return stream.getvalue()
