"""How often a checkpoint is right over how sure it is, of words and of fields; the picture goes into its MLflow run too."""

import argparse
from collections.abc import Sequence

from layoutray import checkpoint, tracking
from layoutray.cli import options as shared_options
from layoutray.cli import terminal
from layoutray.cli._field_scores import field_pairs
from layoutray.cli._reliability import reliability_picture
from layoutray.cli.evaluate import add_pages_options, chosen, encoded, observed
from layoutray.errors import InputError


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture reliability", description=__doc__)
    add_pages_options(parser)
    shared_options.add_picture_file(parser, "reliability.png")
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
