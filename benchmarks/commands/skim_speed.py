"""Seconds and memory of a training step by length: Skimformer and LongSkimformer beside LayoutLM and Longformer."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.papers.skim_models import MODELS
from benchmarks import step_cost


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark skim-speed", description=__doc__)
    step_speed.add_options(parser, MODELS, size="base", lengths=[8, 32, 128, 512, 1024, 2048, 4096])
    return step_speed.run("skim-speed", parser.parse_args(arguments), peers="LayoutLM")


if __name__ == "__main__":
    step_speed.run_case(MODELS, sys.argv[1])
