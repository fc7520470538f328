"""Seconds and memory of a training step of FormNet's encoder by length: with Rich Attention beside without it."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.papers.formnet_models import MODELS
from benchmarks import step_cost


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark rich-speed", description=__doc__)
    step_speed.add_options(parser, MODELS, size="small", lengths=[1024, 2048, 4096, 8192])
    return step_speed.run("rich-speed", parser.parse_args(arguments), peers="ETC")


if __name__ == "__main__":
    step_speed.run_case(MODELS, sys.argv[1])
