"""Seconds and memory of a training step by length: Skimformer, LongSkimformer, LayoutLM and Longformer."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks import step_cost
from benchmarks.options import StepCostOptions, add_step_cost_options
from benchmarks.papers.skim_models import MODELS
from layoutray.cli.shared.options import parse


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks skim-speed", description=__doc__)
    add_step_cost_options(parser, MODELS, size="base", lengths=[8, 32, 128, 512, 1024, 2048, 4096])
    return step_cost.run("skim-speed", parse(parser, arguments, StepCostOptions), peers="LayoutLM")


if __name__ == "__main__":
    step_cost.run_case(MODELS, sys.argv[1])
