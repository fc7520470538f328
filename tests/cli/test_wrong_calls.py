"""Wrong calls of every verb, generated from its parser: one line of error, status 1 or 2, nothing written, no Ray."""

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from layoutray.cli.main import main
from layoutray.cli.verbs import VERBS
from layoutray.serving.access.keys import KeyStore
from layoutray.store.output_lock import working_on
from tests.cluster.checkpoints import save_untrained
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store
from tests.review.answer_folders import write_answers

Given = Mapping[str, Sequence[str]]
"""Values of a call by the name of its option or argument."""

_NEW, _PAGES, _MODEL, _ANSWERS = "new", "ingested", "model", "answered/answers"
RIGHT: Mapping[str, Given] = {
    "synthesize": {"out": [_NEW]},
    "ingest": {"recipe": ["ingest-folder"], "source": ["scans"], "out": [_NEW]},
    "mix": {"recipe": ["mix.toml"], "pages": [_PAGES, "answered/pages"], "out": [_NEW]},
    "encode": {"recipe": ["small.toml"], "pages": [_PAGES], "out": [_NEW]},
    "pretrain": {"recipe": ["small.toml"], "examples": ["examples"], "out": [_NEW]},
    "finetune": {"recipe": ["small.toml"], "examples": ["examples"], "out": [_NEW]},
    "sweep": {"recipe": ["small.toml"], "examples": ["examples"], "out": [_NEW], "over": ["seed=1,2"]},
    "learning-curve": {
        "pages": [_PAGES],
        "recipe": ["small.toml"],
        "examples": ["examples"],
        "out": [_NEW],
        "documents": ["2", "all"],
    },
    "compare": {"pages": [_PAGES], "recipes": ["small.toml"], "out": [_NEW]},
    "import": {"release": ["transformers"], "folder": ["empty"], "out": [_NEW]},
    "evaluate": {"checkpoint": [_MODEL], "pages": [_PAGES], "split": ["dev"]},
    "calibrate": {"checkpoint": [_MODEL], "pages": [_PAGES], "out": [_NEW]},
    "select": {"checkpoint": [_MODEL], "pages": [_PAGES], "out": [_NEW], "count": ["2"]},
    "promote": {"name": ["bills"], "pages": [_PAGES]},
    "promise": {"name": ["bills"], "review": ["file.txt"]},
    "drift": {"answers": [_ANSWERS], "pages": ["answered/pages"]},
    "rollback": {"name": ["bills"]},
    "predict": {"checkpoint": [_MODEL], "source": ["scans"], "out": [_NEW]},
    "review": {"answers": [_ANSWERS], "pages": ["answered/pages"]},
    "serve": {"checkpoint": [_MODEL]},
    "keys create": {"name": ["anna"], "scope": ["admin"]},
    "keys list": {},
    "keys revoke": {"name": ["anna"]},
    "demo": {"out": [_NEW]},
    "train": {"folders": ["labelled"], "out": [_NEW], "init": [_MODEL]},
    "answer": {"files": ["scans"], "fields": ["total"], "out": [_NEW]},
    "recipes": {},
    "benchmark ocr": {"reader": ["folder"], "root": ["scans"]},
    "dead-letters list": {"folder": [_PAGES]},
    "dead-letters show": {"folder": [_PAGES], "which": ["x"]},
    "dead-letters replay": {"folder": [_PAGES]},
    "export alto": {"pages": [_PAGES], "out": [_NEW]},
    "export dataset": {"pages": [_PAGES], "out": [_NEW]},
    "export hocr": {"pages": [_PAGES], "out": [_NEW]},
    "export huggingface": {"checkpoint": [_MODEL], "out": [_NEW]},
    "export label-studio": {"pages": ["answered/pages"], "out": [_NEW], "labels": ["total"]},
    "export lexicon": {"pages": [_PAGES], "out": [_NEW]},
    "export searchable-pdf": {"pages": [_PAGES], "out": [_NEW]},
    "export values": {"pages": [_PAGES], "out": [_NEW]},
    "picture answers": {"answers": [_ANSWERS], "pages": ["answered/pages"]},
    "picture reliability": {"checkpoint": [_MODEL], "pages": [_PAGES], "split": ["dev"]},
    "picture words": {"pages": [_PAGES]},
}
"""What each verb needs; the calls fail only for the mistake that is made in them."""

_NO_LOCK = ("export lexicon", "export values", "import", "train")
"""The first two write a file; the others need more than `RIGHT` gives."""
_NO_FOLDER = ("nowhere", "empty", "s3://a b/c")
WRONG_PLACES: Mapping[str, Sequence[str]] = {
    "pages": (*_NO_FOLDER, "file.txt", _MODEL, _ANSWERS),
    "examples": (*_NO_FOLDER, "file.txt", _PAGES),
    "checkpoint": (*_NO_FOLDER, "file.txt", _PAGES, "models:/unknown@champion", "models:/unknown", "models:/"),
    "init": (*_NO_FOLDER, _PAGES, "models:/unknown@champion"),
    "answers": (*_NO_FOLDER, "file.txt", _PAGES),
    "folder": (*_NO_FOLDER, "file.txt", _MODEL),
    "folders": (*_NO_FOLDER, "file.txt", _PAGES),
    "files": _NO_FOLDER,
    "fields": ("", "total:money", "total,total"),
    "documents": (),
    "model": (*_NO_FOLDER, "file.txt", _PAGES, _MODEL),
    "source": _NO_FOLDER,
    "root": ("nowhere", "empty"),
    "labelled": ("nowhere", "empty", _MODEL),
    "truth": ("nowhere", "empty", _MODEL),
    "order": ("nowhere", "file.txt"),
    "without": ("nowhere", "empty"),
    "evaluation": ("nowhere", "file.txt", "empty"),
    "recipe": ("unknown", "nowhere.toml", "broken.toml", "empty"),
    "recipes": ("unknown", "nowhere.toml", "broken.toml"),
    "release": ("unknown",),
    "overrides": ("key", "=1", "no.such.key=1", "name.inside=1"),
    "out": ("file.txt", "file.txt/below", "s3://a b/c"),
    "json": ("empty", "file.txt/below", "/proc/report.json"),
    "csv": ("empty", "file.txt/below", "/proc/values.csv"),
    "tracking_uri": ("http://127.0.0.1:9", "sqlite:///nowhere/mlflow.db", "sqlite:///file.txt", "wild://host"),
    "register": ("a/b", "a:b", " "),
    "name": (),
    "over": ("seed", "seed=1", "seed=1,1", "no.such=1,2"),
    "port": ("99999", "busy"),
    "keys": ("empty", "file.txt"),
    "models": ("x", "=y"),
}
"""Values that are wrong, by the name of the option or argument."""
_NOT_WRONG = {
    *(("promote", "pages", place) for place in WRONG_PLACES["pages"]),  # the model is missed first
    *(  # the store is asked only for models:/ and by trainings
        (verb, "tracking_uri", uri)
        for verb in ("answer", "encode", "evaluate", "calibrate", "select", "predict", "serve", "export huggingface")
        for uri in WRONG_PLACES["tracking_uri"]
    ),
    *(("picture reliability", "tracking_uri", uri) for uri in WRONG_PLACES["tracking_uri"]),
    ("train", "fields", ""),  # all fields
    ("export values", "fields", ""),  # all fields
    *(("select", "root", place) for place in WRONG_PLACES["root"]),  # pages without pictures make no tasks
    # there is no dead letter to replay with other settings
    *(("dead-letters replay", "overrides", one) for one in WRONG_PLACES["overrides"]),
}
"""Verb, option and value of calls that succeed, or fail for something else."""


@dataclass(frozen=True)
class Mistake:
    """One wrong call: what is wrong, and the arguments after `layoutray`."""

    name: str
    words: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        return list(self.words)


class _Parsed(Exception):  # noqa: N818
    """Carries the parser of a verb out of its call."""


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser that the verb parses its arguments with."""
    seen: list[argparse.ArgumentParser] = []

    def parse_args(self: argparse.ArgumentParser, *_: object) -> None:
        seen.append(self)
        raise _Parsed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
        with pytest.raises(_Parsed):
            main(verb.split())
    return seen[0]


def actions_of(verb: str) -> dict[str, argparse.Action]:
    """The options and arguments of the verb by name."""
    return {action.dest: action for action in parser_of(verb)._actions if action.dest != "help"}


def words(verb: str, actions: Mapping[str, argparse.Action], given: Given) -> tuple[str, ...]:
    """The arguments of a call: options behind arguments, as some options take several values."""
    at_place = [value for name, action in actions.items() if not action.option_strings for value in given.get(name, ())]
    named: list[str] = []
    for name, action in actions.items():
        if action.option_strings and given.get(name):
            values = given[name]
            joined = len(values) == 1 and action.nargs is None
            named += [f"{action.option_strings[0]}={values[0]}"] if joined else [action.option_strings[0], *values]
    return (*verb.split(), *at_place, *named)


def mistakes_of(verb: str) -> Iterator[Mistake]:
    """Every kind of mistake, in every option and argument of the verb."""
    actions = actions_of(verb)
    right = RIGHT[verb]

    def call(name: str, more: Given) -> Mistake:
        return Mistake(f"{verb}: {name}", words(verb, actions, {**right, **more}))

    yield Mistake(f"{verb}: unknown option", (*words(verb, actions, right), "--no-such-option"))
    for name, action in actions.items():
        takes_value = action.nargs != 0
        if action.required or (not action.option_strings and action.nargs != "?"):
            yield call(f"no {name}", {name: []})
        elif takes_value and action.option_strings:
            bare = (*words(verb, actions, {**right, name: []}), action.option_strings[0])
            yield Mistake(f"{verb}: {name} without a value", bare)
        if action.choices is not None:
            yield call(f"{name} of another kind", {name: ["nonsense"]})
        elif _is_number(action):
            yield call(f"{name} is a word", {name: ["many"]})
            yield call(f"{name} is negative", {name: ["-3"]})
        for value in WRONG_PLACES.get(name, ()):
            if (verb, name, value) not in _NOT_WRONG and action.choices is None:
                yield call(f"{name} is {value}", {name: [value]})


def _is_number(action: argparse.Action) -> bool:
    try:
        return callable(action.type) and isinstance(action.type("1"), int | float)
    except argparse.ArgumentTypeError:
        return False


MISTAKES = [mistake for verb in VERBS if verb in RIGHT for mistake in mistakes_of(verb)]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with everything that right calls need; it is the working folder of the tests."""
    folder = tmp_path_factory.mktemp("wrong")
    chosen = recipe("entities", steps=1)
    encode(folder, chosen, pages(6, 2))
    recipe_file(folder, chosen)
    (folder / "mix.toml").write_text("seed = 1\n[shares]\ningested = 0.5\npages = 0.5\n")
    save_untrained(folder / _MODEL, metrics={"step": 1.0})
    write_answers(folder / "answered", ["a"])
    for name in ("scans", "labelled", "empty"):
        (folder / name).mkdir()
    Image.new("L", (60, 80), 255).save(folder / "scans/a.png")
    (folder / "labelled/values.csv").write_text("file,field,value\na.png,total,1.00\n")
    (folder / "file.txt").write_text("buy milk")
    (folder / "broken.toml").write_text("name = [")
    KeyStore.open(str(folder / "keys.db"), create=True).close()
    new_store(folder)
    with socket.create_server(("127.0.0.1", 0)) as busy, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # A call that would start Ray fails for that, and says so.
        patch.setenv("RAY_ADDRESS", "127.0.0.1:9")
        patch.setenv("BUSY", str(busy.getsockname()[1]))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


def content(folder: Path) -> dict[str, int]:
    """Every file and folder with the time of its last change. The database of MLflow is read in write mode."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if not path.name.startswith("mlflow.db") and path != folder
    }


def status_of(mistake: Mistake) -> int:
    try:
        return main([os.path.expandvars(word.replace("=busy", "=$BUSY")) for word in mistake.arguments])
    except SystemExit as ended:
        return int(ended.code or 0)


def test_there_are_three_hundred_of_all_verbs() -> None:
    assert len(MISTAKES) >= 300
    assert {*RIGHT} == {*VERBS}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_wrong_call_says_so_in_one_line_and_does_nothing(
    mistake: Mistake, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before, started = content(here), time.process_time()
    status = status_of(mistake)
    seconds = time.process_time() - started
    said = capfd.readouterr()
    errors = [line for line in said.err.splitlines() if line.startswith("error: ")]
    assert status in (1, 2), said
    assert len(errors) == 1, said
    assert "Traceback" not in said.err
    assert "Ray " not in errors[0]
    assert content(here) == before
    assert seconds < 3


@pytest.mark.parametrize("verb", [verb for verb, given in RIGHT.items() if given.get("out") and verb not in _NO_LOCK])
def test_no_verb_begins_in_the_folder_of_another_command(
    verb: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = content(here)
    with working_on(str(here / _NEW)), working_on(str(here / _NEW / "model")):  # `answer` locks the latter
        assert status_of(Mistake(verb, words(verb, actions_of(verb), RIGHT[verb]))) == 1
    assert "another command is working on" in capfd.readouterr().err
    assert content(here) == before


@pytest.mark.slow
@pytest.mark.parametrize("verb", RIGHT)
def test_a_process_needs_three_seconds_of_a_core_at_most_to_say_so(verb: str, here: Path) -> None:
    mistake = Mistake(verb, (*verb.split(), "--no-such-option"))
    before = _seconds_of_children()
    ended = subprocess.run(
        [sys.executable, "-m", "layoutray.cli", *mistake.arguments], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert _seconds_of_children() - before < 3


def _seconds_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system
