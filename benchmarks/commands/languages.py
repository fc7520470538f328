"""Letters and words read right by language, on drawn pages of frequent words, and languages decided by `auto`.

The variant `eng` shows what the wrong language costs. Scans are copies with a skew of 1 degree, blur, noise and JPEG.
"""

import argparse
import io
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from rapidfuzz.distance import Editops, Levenshtein
from wordfreq import top_n_list

from layoutray.cli.shared import checked, terminal
from layoutray.document import Word
from layoutray.evaluation.ocr_settings import variant
from layoutray.ocr import engines
from layoutray.ocr.ppocr.settings import LETTERS
from layoutray.prepare.language import decide

Page = tuple[NDArray[np.uint8], list[str]]
"""A picture (height, width, 3) and its words."""

_LANGUAGES = {
    "deu": "de",
    "fra": "fr",
    "spa": "es",
    "ita": "it",
    "pol": "pl",
    "por": "pt",
    "tur": "tr",
    "ces": "cs",
    "nld": "nl",
}
"""Codes of ISO 639-3 and of wordfreq."""
_FAMILIES = ("DejaVuSans", "DejaVuSerif", "DejaVuSans-Bold", "DejaVuSansMono")
_SIZE = (1000, 700)
_MARGIN = 40
_VARIANTS = ("profile=accurate", "profile=fast", "profile=accurate, eng")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks languages", description=__doc__)
    parser.add_argument("--pages", type=checked.positive, default=2, help="of each language (default: %(default)s)")
    parser.add_argument("--scans", action="store_true", help="read copies of the pages as a scanner makes them")
    parser.add_argument("--auto", action="store_true", help="only how often `auto` finds the language")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    change = _scanned if options.scans else np.asarray
    drawn = {
        language: [
            (change(picture), words)
            for picture, words in (
                _drawn(language, random.Random(f"{language} {options.seed} {page}")) for page in range(options.pages)
            )
        ]
        for language in _LANGUAGES
    }
    if options.auto:
        rows = [_decisions(language, pages) for language, pages in drawn.items()]
        terminal.show_table("Languages decided", ("language", "one page", "all pages", "certainty"), rows)
        return 0
    rows = [_row(language, pages) for language, pages in drawn.items()]
    title = "Share read right: of letters, of words, and of words with a letter beyond a to z; letters that were not"
    terminal.show_table(title, ("language", "words", *_VARIANTS, "misread by accurate"), rows)
    return 0


def _row(language: str, pages: Sequence[Page]) -> tuple[str, ...]:
    truth = [word for _, words in pages for word in words]
    own = [word for word in truth if not word.isascii()]
    cells, misread = list[str](), Counter[str]()
    for name in _VARIANTS:
        profile, _, other = name.partition(", ")
        found = [
            word.text
            for picture, _ in pages
            for word in _read(picture, f"{profile} rapidocr.language={other or language}")
        ]
        edits = Levenshtein.editops("".join(truth), "".join(found))
        letters = 1 - len(edits) / sum(map(len, truth))
        words, own_words = ((Counter(part) & Counter(found)).total() / len(part) for part in (truth, own))
        cells.append(f"{letters:.3f}, {words:.3f}, {own_words:.3f}")
        if name == _VARIANTS[0]:
            misread = _misread("".join(truth), "".join(found), edits)
        terminal.say(f"{language} {name}: {cells[-1]}")
    return (language, str(len(truth)), *cells, ", ".join(f"{pair} {count}" for pair, count in misread.most_common(4)))


def _read(picture: NDArray[np.uint8], assignments: str) -> Sequence[Word]:
    settings = variant(assignments)
    return engines.load(settings.engine).recognise(picture, settings.settings, settings.max_pixels)


def _misread(truth: str, found: str, edits: Editops) -> Counter[str]:
    """How often a letter was read as another one, or not."""
    return Counter(
        f"{truth[edit.src_pos]}→{found[edit.dest_pos] if edit.tag == 'replace' else ''}"
        for edit in edits
        if edit.tag != "insert"
    )


def _decisions(language: str, pages: Sequence[Page]) -> tuple[str, ...]:
    words = [_read(picture, f"rapidocr.language={'+'.join(LETTERS)}") for picture, _ in pages]
    single, together = Counter(decide([one]).language for one in words), decide(words)
    return (
        language,
        ", ".join(f"{code} {count}" for code, count in single.items()),
        together.language,
        f"{together.certainty:.2f}",
    )


def _scanned(picture: Image.Image) -> NDArray[np.uint8]:
    """The page turned by 1 degree, blurred, with noise and as JPEG."""
    turned = picture.rotate(1, Image.Resampling.BILINEAR, fillcolor=(255, 255, 255))
    values = np.asarray(turned.filter(ImageFilter.GaussianBlur(0.7)), dtype=np.float32)
    noisy = values + np.random.default_rng(1).normal(0, 12, (*values.shape[:2], 1))
    held = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(held, "JPEG", quality=50)
    return np.asarray(Image.open(held), dtype=np.uint8)


def _drawn(language: str, chance: random.Random) -> tuple[Image.Image, list[str]]:
    """A page of words, half of them with a letter beyond a to z, and the words."""
    frequent = [word for word in top_n_list(_LANGUAGES[language], 5000) if word.isalpha() and len(word) > 1]
    own = [word for word in frequent if not word.isascii()]
    picture = Image.new("RGB", _SIZE, (255, 255, 255))
    pen, top, words = ImageDraw.Draw(picture), _MARGIN, list[str]()
    while top < _SIZE[1] - 2 * _MARGIN:
        family, size = chance.choice(_FAMILIES), chance.randint(15, 28)
        font = ImageFont.truetype(str(Path(mpl.get_data_path(), "fonts", "ttf", f"{family}.ttf")), size)
        line = list[str]()
        while font.getlength(" ".join(line)) < _SIZE[0] - 8 * _MARGIN:
            word = chance.choice(chance.choice((frequent, own)))
            line.append(chance.choice((word, word.capitalize())))
        pen.text((_MARGIN, top), " ".join(line), fill=(0, 0, 0), font=font)
        words += line
        top += 2 * size
    return picture, words
