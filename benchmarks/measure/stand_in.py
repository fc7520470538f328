"""A program in Tesseract's place that takes a stated time and finds the same words in every picture; and pictures for it.

With it an ingest's time is known but for what it costs beside OCR. The program sleeps: so workers on one machine do not take each
other's cores, as they would not on nodes of their own.
"""

import contextlib
import os
import statistics
import time
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from layoutray.errors import DocumentError, InputError
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Preprocessing, Recognition, TesseractSettings
from layoutray.store import sources

READS = Recognition(engine="pytesseract", preprocessing=Preprocessing(width=0, clahe=0))
"""Recognition that ends in the program and does little around it."""
REFUSES = Recognition(engine="pytesseract", preprocessing=READS.preprocessing, tesseract=TesseractSettings(psm=0))
"""The same, of which every page becomes a dead letter: Tesseract's mode 0 looks for no words, and the program takes it for an error."""

_PROGRAM = """#!/bin/sh
case "$*" in
    *--version*) echo "tesseract 5.0.0" ;;
    *"--psm 0"*) sleep {seconds}; echo "mode 0 finds no words" >&2; exit 1 ;;
    *) sleep {seconds}; cp "{words}" "$2.tsv" ;;
esac
"""
_SIDE = 64  # pixels of a picture


def install(folder: Path, seconds: float, words: int = 200) -> dict[str, str]:
    """Write the program, which takes `seconds` to find `words` in a picture, into the empty `folder`.

    Returns:
        The variables of an environment in which the program, and language data for it, are what is found.

    Raises:
        InputError: when it would take less than no time.
    """
    if seconds < 0:
        raise InputError(f"a page cannot take {seconds} seconds; give 0 or more")
    found = folder / "words.tsv"
    rows = (f"5\t1\t1\t1\t{n // 8}\t{n % 8}\t{n % 8 * 8}\t{n // 8 % 8 * 8}\t6\t6\t90\tword{n}" for n in range(words))
    found.write_text("\n".join(("level\tpage_num", *rows)))
    program = folder / "tesseract"
    program.write_text(_PROGRAM.format(seconds=seconds, words=found))
    program.chmod(0o755)
    (folder / "eng.traineddata").touch()
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "TESSDATA_PREFIX": str(folder)}


def write_pictures(folder: str, count: int) -> None:
    """Write so many small pictures, each of other bytes, into a folder or below an s3:// address."""
    files, path = sources.filesystem(folder)
    files.create_dir(path, recursive=True)
    for number in range(count):
        with files.open_output_stream(f"{path}/{number:06d}.png") as stream:
            stream.write(_picture(number))


def seconds_of_page(settings: Recognition, times: int = 5) -> float:
    """What `recognise_page` takes for a picture in this process, with nothing around it: the median of so many `times`."""
    data, taken = _picture(0), list[float]()
    for _ in range(times + 1):  # the first one finds its libraries not yet loaded
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
