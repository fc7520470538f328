"""Draws accuracy over confidence of a checkpoint's words and fields; its MLflow run gets the picture too."""

import argparse
from collections.abc import Sequence

from layoutray.errors import InputError
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.pictures import reliability_picture
from pipelines import _terminal as terminal
from pipelines._evaluation_options import EvaluationOptions, add_evaluation_options


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture reliability", description=__doc__)
    add_evaluation_options(parser)
    terminal.add_picture_option(parser, "reliability.png")
    parsed = parser.parse_args(arguments)
    options = EvaluationOptions.of(parsed)
    tracked = options.load()
    if not tracked.loaded.labels:
        raise InputError(
            f"{options.checkpoint} labels no words, so its words have no confidence; "
            "fine-tune it for a task such as entities and use that checkpoint"
        )
    evaluation = evaluate(tracked.loaded, options.selection())
    assert evaluation.words is not None, "a checkpoint with labels has word confidences"
    fields = evaluation.fields and evaluation.fields.calibration
    picture = reliability_picture(evaluation.words.calibration, fields)
    if run := tracked.run():
        run.log_picture(parsed.out.stem, picture)
    return terminal.show_picture(picture, parsed.out)
