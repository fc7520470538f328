"""Seconds and memory of a training step by length: FormNet's encoder with and without Rich Attention."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks import step_cost
from benchmarks.options import StepCostOptions, add_step_cost_options
from benchmarks.papers.formnet_models import MODELS
from layoutray.cli.shared.options import parse


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks rich-speed", description=__doc__)
    add_step_cost_options(parser, MODELS, size="small", lengths=[1024, 2048, 4096, 8192])
    return step_cost.run("rich-speed", parse(parser, arguments, StepCostOptions), peers="ETC")


if __name__ == "__main__":
    step_cost.run_case(MODELS, sys.argv[1])
