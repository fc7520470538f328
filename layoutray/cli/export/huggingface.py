"""`layoutray export huggingface`: a checkpoint as a folder of the transformers library, with a model card."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutray import checkpoint
from layoutray.checkpoint import read_json
from layoutray.cli.shared import options, terminal
from layoutray.errors import InputError
from layoutray.releases import huggingface
from layoutray.releases.model_card import Evaluated, Statements, model_card
from layoutray.tracking import registered


@dataclass(frozen=True, kw_only=True)
class HuggingFaceOptions:
    """Options of `layoutray export huggingface`.

    Attributes:
        checkpoint: a folder, an `s3://` address, or `models:/NAME@ALIAS`.
        evaluation: reports of `layoutray evaluate --json`, for the card.
        licence, data_licence, language: see `Statements`.
    """

    checkpoint: str
    out: Path
    evaluation: Sequence[Path]
    licence: str
    data_licence: Sequence[str]
    language: Sequence[str]
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("export huggingface")
    options.add_checkpoint(parser)
    parser.add_argument("out", type=options.local_folder, help="folder of the model, new or empty")
    parser.add_argument(
        "--evaluation",
        nargs="+",
        type=Path,
        default=[],
        metavar="REPORT",
        help="reports of `layoutray evaluate --json REPORT` for the model card (default: only the evaluation on dev)",
    )
    parser.add_argument("--licence", default="", help="licence of the model, e.g. apache-2.0 (default: not stated)")
    parser.add_argument(
        "--data-licence", nargs="+", default=[], metavar="TEXT", help="licences of the data (default: not stated)"
    )
    parser.add_argument("--language", nargs="+", default=[], metavar="CODE", help="languages of the pages, e.g. en")
    options.add_tracking_uri(parser)
    chosen = options.parse(parser, arguments, HuggingFaceOptions)
    options.require_empty(chosen.out)
    evaluated = [_evaluated(file) for file in chosen.evaluation]
    folder, _ = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
    loaded = checkpoint.load(folder)
    model = huggingface.library_model(loaded)
    needs_layoutray = huggingface.needs_layoutray(model)
    stated = Statements(chosen.licence, chosen.data_licence, chosen.language)
    card = model_card(loaded, evaluated, stated, needs_layoutray=needs_layoutray)
    huggingface.write(chosen.out, loaded, model, card)
    loads = "with `import layoutray.auto_classes`" if needs_layoutray else "without layoutray"
    terminal.say(f"{type(model).__name__}: {chosen.out} (loads {loads}); read its README.md before you publish it")
    if known := huggingface.known_value_fields(loaded):
        terminal.say(f"the lists of known values of {', '.join(known)} are not exported")
    return 0


def _evaluated(file: Path) -> Evaluated:
    report = read_json(file)
    match report:
        case {"pages": list() as folders, "split": str() as split, "metrics": dict() as metrics}:
            numbers: dict[str, Any] = {name: value for name, value in metrics.items() if type(value) in (int, float)}
            return Evaluated(tuple(map(str, folders)), split, numbers, str(report.get("words", "")))
        case _:
            raise InputError(
                f"{file} is not a report of an evaluation: it lacks pages, split or metrics; "
                "make one with `layoutray evaluate --json FILE`"
            )
