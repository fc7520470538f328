"""Seconds and memory of a training step by length: LAMBERT and transformers' RoBERTa."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks import step_cost
from benchmarks.options import StepCostOptions, add_step_cost_options
from benchmarks.papers.lambert_models import MODELS
from layoutray.cli.shared.options import parse


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lambert-speed", description=__doc__)
    add_step_cost_options(parser, MODELS, size="small", lengths=[128, 512])
    return step_cost.run("lambert-speed", parse(parser, arguments, StepCostOptions), peers="RoBERTa")


if __name__ == "__main__":
    step_cost.run_case(MODELS, sys.argv[1])
