"""The Python API: the same arguments as the verbs, errors of the package, and the whole way of docs/python.md."""

import argparse
import inspect
import json
import re
import runpy
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import layoutray
from layoutray.cli import answer, encode, ingest, predict, synthesize
from layoutray.errors import InputError, RecipeError
from layoutray.tracking import runs
from tests.cluster.checkpoints import save_untrained
from tests.jobs import encode as encode_pages
from tests.jobs import pages, recipe, recipe_file, write_pages
from tests.mlflow_store import new_store

REPOSITORY = Path(__file__).resolve().parents[1]
OF_THE_TERMINAL = {"dry_run", "sample", "price"}
"""Options that only print: a program has the returned value."""


def names_and_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: None if parameter.default is inspect.Parameter.empty else parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
    }


@pytest.mark.parametrize(
    ("function", "verb", "least"),
    [
        (layoutray.synthesize, synthesize, ["drawn"]),
        (layoutray.ingest, ingest, ["recipe", "source", "out"]),
        (layoutray.encode, encode, ["recipe", "pages", "--out=out"]),
        (layoutray.predict, predict, ["checkpoint", "source", "--out=out"]),
        (layoutray.answer, answer, ["files", "--fields=total", "--model=start", "--out=out"]),
    ],
)
def test_a_function_has_the_arguments_of_its_verb(
    function: Callable[..., Any], verb: Any, least: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, Any] = {}
    parse = argparse.ArgumentParser.parse_args

    def parsed(self: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
        taken.update(vars(parse(self, arguments)))
        raise KeyboardInterrupt

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    with pytest.raises(KeyboardInterrupt):
        verb.main(least)
    stated = names_and_defaults(function)
    assert taken.keys() - OF_THE_TERMINAL == stated.keys()
    optional = {name: default for name, default in stated.items() if default is not None}
    assert {name: tuple(taken[name]) if taken[name] == [] else taken[name] for name in optional} == optional


def test_an_option_that_a_verb_does_not_have_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown option worker; allowed: .*init.*workers"):
        layoutray.finetune("pretrain-tiny", tmp_path, out=tmp_path, worker=2)
    with pytest.raises(InputError, match=r"unknown option prot; allowed: .*host.*port"), layoutray.serve("x", prot=1):
        pass
    with pytest.raises(InputError, match=r"unknown option dry_run"):
        layoutray.evaluate("x", "pages", dry_run=True)


def test_errors_are_those_of_the_package(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no recipe called 'nothing'"):
        layoutray.ingest("nothing", tmp_path, tmp_path / "pages")
    with pytest.raises(InputError, match="no folder of pages"):
        layoutray.evaluate(tmp_path, [])
    with pytest.raises(InputError, match="pages is 'letters'; allowed: bills, items, forms"):
        layoutray.synthesize(tmp_path, pages="letters")


def test_a_training_is_registered_and_measured(tmp_path: Path) -> None:
    chosen, store = recipe("entities", steps=2, evaluate_every=0), new_store(tmp_path)
    examples = encode_pages(tmp_path, chosen, pages(4))
    out = tmp_path / "model"
    trained = layoutray.finetune(
        recipe_file(tmp_path, chosen), Path(examples), out=out, register="forms", tracking_uri=store
    )
    assert (trained.checkpoint, trained.metrics["step"]) == (str(out), 2)
    run = runs.noted(out, store)
    assert run is not None
    tags = run.client.get_run(run.run_id).data.tags
    assert tags["mlflow.source.name"] == "layoutray.finetune"
    assert tags["command"].startswith("layoutray.finetune('")
    assert tags["command"].endswith(f"register='forms', tracking_uri={store!r})")
    write_pages(tmp_path / "pages", pages(4))
    report = layoutray.evaluate("models:/forms@champion", tmp_path / "pages", split="train", tracking_uri=store)
    logged = run.client.get_run(run.run_id).data.metrics
    assert report["metrics"]["f1"] in [value for name, value in logged.items() if name.endswith("/f1")]


WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "mlflow", "transformers"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
"""


def test_the_verbs_that_read_pages_run_without_pytorch_and_mlflow_and_others_say_what_is_missing(
    tmp_path: Path,
) -> None:
    """`sitecustomize` refuses the packages in every process, those of OCR included."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        paths = {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True, check=False)

    layoutray.synthesize(tmp_path / "drawn", count=3)
    planned = run("-m", "layoutray.cli", "ingest", "ingest-synthetic", "drawn", "pages", "--dry-run", "--sample=1")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["plan"]["estimate"]["of them dead letters"] == 0
    message = (
        r"layoutray finetune needs the extra train \(No module named '\w+'\); "
        r"install: pip install 'layoutray\[train\]'\n"
    )
    refused = run("-m", "layoutray.cli", "finetune", "finetune-fields", "examples", "--out", "model")
    assert refused.returncode == 1
    assert re.fullmatch(f"error: {message}", refused.stderr)
    called = run("-c", "import layoutray; layoutray.finetune('finetune-fields', 'examples', out='model')")
    assert re.search(f"layoutray.errors.MissingDependencyError: {message}$", called.stderr)


def test_help_does_not_wait_for_ray_and_pytorch() -> None:
    for verb in ("ingest", "encode", "predict", "pretrain", "finetune", "serve"):
        program = (
            "import sys, contextlib; from layoutray.cli.main import main\n"
            f"with contextlib.suppress(SystemExit): main([{verb!r}, '--help'])\n"
            "sys.stderr.write(' '.join({'ray', 'torch', 'mlflow', 'pyarrow'} & sys.modules.keys()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""


@pytest.mark.ray
@pytest.mark.ocr
def test_the_whole_way_of_the_example(
    tmp_path: Path, cluster: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["whole_way.py", str(tmp_path)])
    runpy.run_path(str(REPOSITORY / "docs/examples/whole_way.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "10 pages read by rapidocr" in said
    assert re.search(r"F1 on test: [01]\.\d{3}", said)
    assert said.endswith("10 pages answered\n")


@pytest.mark.ray
@pytest.mark.ocr
def test_an_endpoint_answers_inside_the_block_and_is_gone_after_it(tmp_path: Path, cluster: None) -> None:
    save_untrained(tmp_path / "model")
    with (
        layoutray.serve(tmp_path / "model", port=18437, overrides=["recognition.profile=fast"]) as url,
        urllib.request.urlopen(f"{url}/v1/models", timeout=60) as answer,
    ):
        assert answer.status == 200
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/v1/models", timeout=5)
