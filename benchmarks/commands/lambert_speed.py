"""Seconds and memory of a training step by length: LAMBERT beside the library's RoBERTa."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.papers.lambert_models import MODELS
from benchmarks import step_cost


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark lambert-speed", description=__doc__)
    step_speed.add_options(parser, MODELS, size="small", lengths=[128, 512])
    return step_speed.run("lambert-speed", parser.parse_args(arguments), peers="RoBERTa")


if __name__ == "__main__":
    step_speed.run_case(MODELS, sys.argv[1])
