"""`layoutray export huggingface`: a checkpoint as a folder of the transformers library, with a model card."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutray.cli.shared import checked, options, output_folder, terminal
from layoutray.cli.shared.options import CheckpointOptions, option
from layoutray.errors import InputError


@dataclass(frozen=True, kw_only=True)
class HuggingFaceOptions(CheckpointOptions):
    """Options of `layoutray export huggingface`; see `model_card`."""

    out: Path = option(type=checked.local_folder, help="folder of the model, new or empty")
    evaluation: Sequence[Path] = option(
        "--evaluation",
        nargs="+",
        type=Path,
        default=[],
        metavar="REPORT",
        help="reports of `layoutray evaluate --json REPORT` for the model card (default: only the evaluation on dev)",
    )
    licence: str = option("--licence", default="", help="licence of the model, e.g. apache-2.0 (default: not stated)")
    data_licence: Sequence[str] = option(
        "--data-licence", nargs="+", default=[], metavar="TEXT", help="licences of the data (default: not stated)"
    )
    language: Sequence[str] = option(
        "--language", nargs="+", default=[], metavar="CODE", help="languages of the pages, e.g. en"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("export huggingface", arguments, HuggingFaceOptions)
    # Imported here because PyTorch and transformers take seconds, for which `--help` shall not wait.
    from layoutray import checkpoint, tasks
    from layoutray.releases import huggingface
    from layoutray.releases.model_card import Evaluated, model_card
    from layoutray.tracking import registered

    with output_folder.new_folder(chosen.out):
        evaluated: list[Evaluated] = []
        for file in chosen.evaluation:
            match report := checkpoint.read_json(file):
                case {"pages": list() as folders, "split": str() as split, "metrics": dict() as metrics}:
                    numbers: dict[str, Any] = {
                        name: value for name, value in metrics.items() if type(value) in (int, float)
                    }
                    words = str(report.get("words", ""))
                    evaluated.append(Evaluated(tuple(map(str, folders)), split, numbers, words))
                case _:
                    raise InputError(
                        f"{file} is not a report of an evaluation: it lacks pages, split or metrics; "
                        "make one with `layoutray evaluate --json FILE`"
                    )
        folder, _ = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
        loaded = checkpoint.load(folder)
        model = huggingface.library_model(loaded)
        needs_layoutray = huggingface.needs_layoutray(model)
        card = model_card(
            loaded,
            evaluated,
            needs_layoutray=needs_layoutray,
            licence=chosen.licence,
            data_licences=chosen.data_licence,
            languages=chosen.language,
        )
        huggingface.write(chosen.out, loaded, model, card)
        loads = "with `import layoutray.auto_classes`" if needs_layoutray else "without layoutray"
        terminal.say(f"{type(model).__name__}: {chosen.out} (loads {loads}); read its README.md before you publish it")
        fields = tasks.fields_of(loaded.recipe.task)
        if known := sorted(name for name, kind in fields.items() if kind.known_values):  # which are the owner's data
            terminal.say(f"the lists of known values of {', '.join(known)} are not exported")
        return 0
