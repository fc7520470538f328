"""Draws the picture of the pipeline in the README: the verbs of each stage and the folders that do its work.

    python docs/pipeline.py

writes docs/images/pipeline.svg. The stages are written below. A verb or folder of the package that no stage has, or
that no longer exists, is an error. A test compares the file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from layoutray.cli.verbs import GROUPS, VERBS

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "layoutray"
PICTURE = REPOSITORY / "docs/images/pipeline.svg"


@dataclass(frozen=True, slots=True)
class Stage:
    """One column: what it is called, what it gives, its verbs, and its folders in `layoutray/`."""

    title: str
    gives: str
    verbs: str
    folders: str


@dataclass(frozen=True, slots=True)
class Base:
    """One bar below the columns: what all stages use. `folders` are named first, `verbs` in the text."""

    folders: str
    text: str
    verbs: str = ""


STAGES = (
    Stage("read", "PAGES", "synthesize ingest mix dead-letters", "readers ocr prepare synthetic"),
    Stage("encode", "EXAMPLES", "encode", "tasks batching"),
    Stage(
        "train",
        "checkpoint",
        "import pretrain finetune sweep learning-curve compare",
        "training architectures nn start compare releases",
    ),
    Stage(
        "measure",
        "champion",
        "evaluate calibrate promote promise drift rollback select picture benchmark",
        "evaluation metrics active_learning report",
    ),
    Stage("answer", "answers", "answer predict serve keys", "inference serving"),
    Stage("correct", "truth", "review export", "review formats"),
)
BASES = (
    Base(
        "cli recipe", "one module a verb, one TOML file a run; train and demo run the whole chain", "train demo recipes"
    ),
    Base("cluster", "the same work on Ray (Data, Train, Serve): one machine or many"),
    Base("tracking", "runs, models, champion and candidate in MLflow"),
    Base("document store", "words, pages and answers; tables as Parquet and Arrow, in folders or buckets"),
)

_COLUMN, _GAP, _LINE, _MARGIN = 160, 8, 21, 16  # pixels
_VERBS_TOP, _BAR = 92, 34
_BLUE, _PALE, _GREEN = "#1d5b8f", "#e8f0f7", "#2f7d4f"
_TITLE = 'font-size="18" font-weight="600" fill="#ffffff"'
_RESULT = f'font-weight="600" fill="{_BLUE}"'
_VERB = 'font-family="ui-monospace, monospace" fill="#1f2933"'
_FOLDER = 'font-family="ui-monospace, monospace" fill="#5f6c7b"'
_PLAIN = 'fill="#1f2933"'


def check() -> None:
    """Every verb, group of verbs and folder of the package stands in the picture once.

    Raises:
        ValueError: with the names that are missing, unknown or drawn twice.
    """
    parts = [*STAGES, *BASES]
    _compare("verb", {verb.partition(" ")[0] for verb in VERBS} | set(GROUPS), (part.verbs for part in parts))
    _compare("folder", {file.parent.name for file in PACKAGE.glob("*/__init__.py")}, (part.folders for part in parts))


def _compare(kind: str, exist: set[str], drawn: Iterable[str]) -> None:
    counts = Counter(name for names in drawn for name in names.split())
    wrong = sorted((set(counts) ^ exist) | {name for name, count in counts.items() if count > 1})
    if wrong:
        raise ValueError(f"docs/pipeline.py draws each {kind} once; wrong or missing: {', '.join(wrong)}")


def picture() -> str:
    """The picture as SVG text."""
    check()
    verbs = max(len(stage.verbs.split()) for stage in STAGES)
    folders = max(len(stage.folders.split()) for stage in STAGES)
    folders_top = _VERBS_TOP + verbs * _LINE + 24
    result_top = folders_top + folders * _LINE
    bars_top = result_top + 78
    width = 2 * _MARGIN + len(STAGES) * (_COLUMN + _GAP)
    height = bars_top + len(BASES) * _BAR + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="system-ui, sans-serif" font-size="14">',
        "<title>The pipeline of layoutray: verbs and folders of each stage</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for number, stage in enumerate(STAGES):
        lines += _column(stage, _MARGIN + number * (_COLUMN + _GAP), folders_top, result_top)
    lines += _way_back(result_top + 32, width)
    for number, base in enumerate(BASES):
        lines += _bar(base, bars_top + number * _BAR, width)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _column(stage: Stage, left: int, folders_top: int, result_top: int) -> Iterator[str]:
    right, tip = left + _COLUMN, left + _COLUMN + _GAP
    corners = f"{left},16 {right - 8},16 {tip},38 {right - 8},60 {left},60 {left + 10},38"
    yield f'<polygon points="{corners}" fill="{_BLUE}"/>'
    yield _text(left + 24, 44, stage.title, _TITLE)
    for row, verb in enumerate(stage.verbs.split()):
        yield _text(left + 12, _VERBS_TOP + row * _LINE, verb, _VERB)
    for row, folder in enumerate(stage.folders.split()):
        yield _text(left + 12, folders_top + row * _LINE, f"{folder}/", _FOLDER)
    yield f'<rect x="{left + 8}" y="{result_top}" width="{_COLUMN - 24}" height="30" rx="15" fill="{_PALE}"/>'
    yield _text(left + 24, result_top + 20, f"→ {stage.gives}", _RESULT)


def _way_back(top: int, width: int) -> Iterator[str]:
    """The arrow from the last column to the first: what people corrected is ingested again."""
    start, end = width - _MARGIN - _GAP - _COLUMN // 2, _MARGIN + _COLUMN // 2
    yield f'<path d="M{start},{top} v18 H{end} v-12" fill="none" stroke="{_GREEN}" stroke-width="2"/>'
    yield f'<polygon points="{end - 6},{top + 8} {end + 6},{top + 8} {end},{top - 2}" fill="{_GREEN}"/>'
    yield _text(width // 2 - 140, top + 13, "corrected documents are training data", f'fill="{_GREEN}"')


def _bar(base: Base, top: int, width: int) -> Iterator[str]:
    yield f'<rect x="{_MARGIN}" y="{top}" width="{width - 2 * _MARGIN}" height="{_BAR - 6}" rx="4" fill="{_PALE}"/>'
    names = " ".join(f"{folder}/" for folder in base.folders.split())
    yield _text(_MARGIN + 12, top + 19, names, _FOLDER)
    yield _text(_MARGIN + 190, top + 19, base.text, _PLAIN)


def _text(x: int, y: int, text: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
