"""What `layoutray serve` refuses before it starts anything."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.cli import serve
from layoutray.errors import InputError
from layoutray.recipe.ingest import load_ingest
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from tests.cluster.checkpoints import save_untrained


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    save_untrained(tmp_path / "checkpoint")
    return str(tmp_path / "checkpoint")


def test_an_option_is_a_setting_in_its_own_unit(checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def settings_of(arguments: list[str]) -> ServeSettings:
        settings, _ = serve.parts(vars(serve.parser().parse_args(arguments)))
        return settings

    monkeypatch.chdir(Path(checkpoint).parent)
    default = settings_of([checkpoint])
    limits = ["--keep-jobs", "0.5", "--timeout", "7"]
    replicas = ["--gpus", "0", "--max-ocr-replicas", "3", "--model", "invoices=checkpoint", "--port", "9"]
    jobs = ["--jobs", "j", "--job-prefixes", "s3://a/b", "s3://c/d", "--keys", "keys"]
    given = settings_of(["checkpoint", *limits, *replicas, *jobs])
    assert default == ServeSettings(checkpoint, recognition=load_ingest("ingest-folder", []).recognition)
    assert given == replace(
        default,
        limits=Limits(keep_jobs_s=1800, timeout_s=7),
        gpus_per_model=0,
        max_ocr_replicas=3,
        jobs=str(Path(checkpoint).parent / "j"),
        job_prefixes=("s3://a/b", "s3://c/d"),
        models={"invoices": checkpoint},
        keys=str(Path(checkpoint).parent / "keys"),
        port=9,
    )


@pytest.mark.parametrize("models", [["invoices"], ["=runs/a"], ["invoices="], ["invoices=runs/a", "invoices=runs/b"]])
def test_a_model_needs_a_name_of_its_own(checkpoint: str, models: list[str]) -> None:
    options = [part for model in models for part in ("--model", model)]
    with pytest.raises(InputError, match="must be NAME=MODEL, with a name that no other --model has"):
        serve.main([checkpoint, *options])


def test_a_model_that_can_never_be_loaded_is_refused(checkpoint: str) -> None:
    with pytest.raises(InputError, match=r"weights of model invoices take .* MiB.*give a larger --model-memory"):
        serve.main([checkpoint, "--model", f"invoices={checkpoint}", "--model-memory", "0.001"])
