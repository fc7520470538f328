"""Draws accuracy over confidence of a checkpoint's words and fields; its MLflow run gets the picture too."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.evaluation_options import EvaluationOptions
from layoutray.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(EvaluationOptions):
    """Options of `layoutray picture reliability`."""

    out: Path = options.picture_file("reliability.png")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("picture reliability", arguments, ReliabilityOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray.evaluation.evaluate import evaluate
    from layoutray.evaluation.pictures import reliability_picture

    tracked = chosen.load()
    if not tracked.loaded.labels:
        raise InputError(
            f"{chosen.checkpoint} labels no words, so its words have no confidence; "
            "fine-tune it for a task such as entities and use that checkpoint"
        )
    evaluation = evaluate(tracked.loaded, chosen.selection())
    assert evaluation.words is not None, "a checkpoint with labels has word confidences"
    fields = evaluation.fields and evaluation.fields.calibration
    picture = reliability_picture(evaluation.words.calibration, fields)
    if run := tracked.run():
        run.log_picture(chosen.out.stem, picture)
    return terminal.show_picture(picture, chosen.out)
