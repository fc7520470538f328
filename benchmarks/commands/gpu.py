"""What a GPU brings: the tests that need one, and the speed of training and answering, in about 12 minutes."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import torch
from torch import nn

from benchmarks.measure import clock
from benchmarks.measure.generated_examples import generate
from benchmarks.measure.generated_model import save_model
from benchmarks.measure.generated_pages import random_pages
from benchmarks.measure.training_speed import SpeedRun
from benchmarks.measure.training_speed import measure as training_speed
from benchmarks.measure.training_step import StepCase, StepCost, measure_step
from benchmarks.papers import formnet_models, skim_models
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive
from layoutray.devices import CPU
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.store import codec
from layoutray.store.card import Card
from layoutray.training.flops import peak

_REPOSITORY = Path(__file__).resolve().parents[2]
_TIMED = 10
"""Steps, or batches of pages, that are timed."""
_PAGES = 256
_BATCH = 32


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure, and how it is measured for models of a size: tiny, small or base."""

    goal: str
    measure: Callable[[str], str]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--size", choices=("tiny", "small", "base"), default="base", help="of models")
    parser.add_argument("--only", nargs="+", choices=list(_ROWS), default=list(_ROWS), help="default: all")
    parser.add_argument("--seconds", type=positive, default=150, help="for each row, at most (default: %(default)s)")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU if there is no GPU")
    options = parser.parse_args(arguments)
    if not (torch.cuda.is_available() or options.cpu):
        raise InputError("PyTorch finds no GPU; run this on a machine that has one, or give --cpu")
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    figures = {name: _in_a_process(name, options.size, options.seconds) for name in options.only}
    rows = [(name, figure, _ROWS[name].goal) for name, figure in figures.items()]
    terminal.show_table(f"{device}, size {options.size}, PyTorch {torch.__version__}", ("", "measured", "goal"), rows)
    sys.stdout.write(json.dumps({"device": device, "size": options.size, **figures}) + "\n")
    return 0


def _in_a_process(name: str, size: str, seconds: int) -> str:
    """The figure of a row. What fails, or takes too long, costs only its row."""
    terminal.say(f"{name} …")
    command = [sys.executable, "-m", "benchmarks.commands.gpu", name, size]
    try:
        done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"not within {seconds} s"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or [
        f"ended with {done.returncode}"
    ]
    return said[-1] if done.returncode == 0 else f"failed: {said[-1]}"


def _tests(_: str) -> str:
    """The last line of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests", "benchmarks/tests"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()[-1]


def _utilisation(size: str) -> str:
    cost = _step(skim_models.MODELS, _case("Skimformer", size, 512))
    speed = peak(clock.device())
    return f"{cost.flops / cost.seconds / speed:.0%}" if speed else f"{cost.flops / cost.seconds:.3g} operations/s"


def _compiled(size: str) -> str:
    plain = _case("Skimformer", size, 512)
    compiled = _step(skim_models.MODELS, replace(plain, compiled=True))
    return f"{_step(skim_models.MODELS, plain).seconds / compiled.seconds:.2f}"


def _rich(size: str) -> str:
    rich, plain = (_step(formnet_models.MODELS, _case(name, size, 1024)) for name in ("Rich Attention", "ETC"))
    return f"{rich.seconds / plain.seconds:.2f}"


def _packed(size: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), 4 * _BATCH, 512)
        examples = {"train": 4 * _BATCH}
        card = Card(
            task="masked_lm",
            max_length=512,
            labels=(),
            sources=(),
            pages={},
            examples=examples,
            dead=0,
            digest="random",
        )
        card.write(folder)
        padded, packed = (
            training_speed(
                SpeedRun(
                    examples=folder,
                    recipe="pretrain-skimformer",
                    overrides=[f"model.size={size}", f"train.windows={windows}", "train.precision=auto"],
                    steps=_TIMED,
                    threads=torch.get_num_threads(),
                ),
                _REPOSITORY,
            )
            for windows in ("padded", "packed")
        )
    return f"{packed.per_second / padded.per_second:.2f}; {packed.per_second:,.0f} tokens/s"


def _answers(size: str) -> str:
    pages = list(codec.pages_of(random_pages(_PAGES, 200)))
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder), pages[:8], size)
        fast, slow = (_pages_per_second(Extractor.load(folder, device), pages) for device in (clock.device(), CPU))
    return f"{fast:,.1f} pages/s; {fast / slow:.1f} times one thread of the CPU"


def _pages_per_second(extractor: Extractor, pages: Sequence[Page]) -> float:
    device = extractor.device
    answered = pages if device.type == "cuda" else pages[:16]
    torch.set_num_threads(1)
    extractor.extract(answered[:8])
    return len(answered) / clock.seconds(lambda: extractor.extract(answered), device)


def _case(model: str, size: str, length: int) -> StepCase:
    memory = psutil.virtual_memory().available
    batch = _BATCH if torch.cuda.is_available() else 1
    return StepCase(model=model, size=size, length=length, batch=batch, compiled=False, steps=_TIMED, memory=memory)


def _step(models: Mapping[str, Callable[[StepCase], nn.Module]], case: StepCase) -> StepCost:
    return measure_step(case, models[case.model])


_ROWS = {
    "tests that need a GPU": _Row("all pass", _tests),
    "utilisation of a step of Skimformer, 512 tokens": _Row("≥ 45 % of the data sheet (base)", _utilisation),
    "speed of the compiled step over the plain one": _Row("", _compiled),
    "time of FormNet's step over that without Rich Attention": _Row("≤ 1.3", _rich),
    "packed over padded windows": _Row("", _packed),
    "answers of a model with SROIE's fields": _Row("", _answers),
}


if __name__ == "__main__":
    sys.stdout.write(_ROWS[sys.argv[1]].measure(sys.argv[2]) + "\n")
