"""How often a checkpoint is right over how sure it is, of words and of fields; the picture goes into its MLflow run too."""

import argparse
from collections.abc import Sequence

from layoutray import checkpoint, tracking
from layoutray.errors import InputError
from pipelines import _terminal as terminal
from pipelines._field_scores import field_pairs
from pipelines._reliability import reliability_picture
from pipelines.evaluate import add_pages_options, chosen, encoded, observed


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture reliability", description=__doc__)
    add_pages_options(parser)
    terminal.add_picture_option(parser, "reliability.png")
    options = parser.parse_args(arguments)
    uri = options.tracking_uri or tracking.default_uri()
    folder, _ = tracking.checkpoint_folder(options.checkpoint, uri)
    loaded = checkpoint.load(folder)
    if not loaded.labels:
        raise InputError(
            f"{options.checkpoint} labels no words, so that it is sure of none; fine-tune it, and take that checkpoint"
        )
    rows = chosen(options)
    examples, _ = encoded(loaded, options.pages, rows, loaded.recipe.max_length)
    pairs = field_pairs(loaded, options.pages, rows, beams=1)
    picture = reliability_picture(loaded, observed(loaded, examples), pairs)
    if run := tracking.noted(folder, uri):
        run.log_picture(options.out.stem, picture)
    return terminal.show_picture(picture, options.out)
