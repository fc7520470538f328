"""Words read right by language, on drawn pages of frequent words; `eng` shows what the wrong language costs."""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from wordfreq import top_n_list

from layoutray.cli.shared import checked, terminal
from layoutray.evaluation.ocr_settings import variant
from layoutray.ocr import engines

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
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rows = [_row(language, options.pages, options.seed) for language in _LANGUAGES]
    title = "Share of words read right: of all, and of those with a letter beyond a to z"
    terminal.show_table(title, ("language", "words", *_VARIANTS), rows)
    return 0


def _row(language: str, pages: int, seed: int) -> tuple[str, ...]:
    drawn = [_drawn(language, random.Random(f"{language} {seed} {page}")) for page in range(pages)]
    cells: list[str] = []
    for name in _VARIANTS:
        profile, _, other = name.partition(", ")
        settings = variant(f"{profile} rapidocr.language={other or language}")
        engine = engines.load(settings.engine)
        found = Counter[str]()
        for picture, _ in drawn:
            found.update(word.text for word in engine.recognise(picture, settings.settings, settings.max_pixels))
        truth = Counter(word for _, words in drawn for word in words)
        own = Counter({word: count for word, count in truth.items() if not word.isascii()})
        shares = (f"{(truth & found).total() / truth.total():.3f}", f"{(own & found).total() / own.total():.3f}")
        cells.append(", ".join(shares))
        terminal.say(f"{language} {name}: {cells[-1]}")
    return (language, str(sum(len(words) for _, words in drawn)), *cells)


def _drawn(language: str, chance: random.Random) -> tuple[NDArray[np.uint8], list[str]]:
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
    return np.asarray(picture, dtype=np.uint8), words
