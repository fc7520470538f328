"""The Serve configuration of the RayService is one that Serve takes, and that our application understands."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from ray import serve
from ray.serve.schema import ServeDeploySchema

from layoutray.cli import serve as ours
from layoutray.cluster.endpoint import application
from layoutray.errors import InputError, RecipeError
from layoutray.serving.settings import ServeSettings
from tests.infra.manifests import manifests

SERVICE = manifests()["RayService/extractor"]["spec"]


def arguments() -> dict[str, Any]:
    (stated,) = ServeDeploySchema.model_validate(yaml.safe_load(SERVICE["serveConfigV2"])).applications
    assert stated.import_path == f"{ours.__name__}:{ours.application.__name__}"
    assert isinstance(stated.args, dict)
    return stated.args


def test_it_builds_the_endpoint() -> None:
    assert isinstance(ours.application(arguments()), serve.Application)
    assert isinstance(ours.application(arguments() | {"models": {"letters": "runs/letters"}}), serve.Application)


def test_its_pods_have_what_it_asks_for() -> None:
    asked = arguments()
    limits = [
        group["template"]["spec"]["containers"][0]["resources"]["limits"]
        for group in SERVICE["rayClusterConfig"]["workerGroupSpecs"]
    ]
    assert asked["cpus_per_replica"] * (asked["ocr_replicas"] + asked["model_replicas"]) <= sum(
        int(limit["cpu"]) for limit in limits
    )
    assert asked["gpus_per_model"] * asked["model_replicas"] == sum(
        int(limit.get("nvidia.com/gpu", 0)) for limit in limits
    )


def test_a_key_that_the_endpoint_does_not_know_is_named() -> None:
    with pytest.raises(RecipeError, match="unknown recipe key ocr_replica "):
        ours.application(arguments() | {"ocr_replica": 2})


def test_there_is_at_least_one_beam() -> None:
    with pytest.raises(InputError, match="beams is 0"):
        ServeSettings("checkpoint", beams=0)


def test_the_sample_is_a_share() -> None:
    with pytest.raises(InputError, match="review_sample is 5; it must be a share from 0 to 1"):
        ServeSettings("checkpoint", review_sample=5)
    with pytest.raises(InputError, match="review_share is -1; it must be a share from 0 to 1"):
        ServeSettings("checkpoint", review="review.db", review_share=-1)
    with pytest.raises(InputError, match=r"review_share is 0\.1 and there is no review file; give --review FILE"):
        ServeSettings("checkpoint", review_share=0.1)


def test_it_needs_keys_or_says_that_it_is_open() -> None:
    closed = {name: value for name, value in arguments().items() if name != "open"}
    with pytest.raises(InputError, match="there are no keys"):
        ours.application({**closed, "host": "127.0.0.1"})


def test_files_are_those_of_its_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built: list[ServeSettings] = []
    monkeypatch.setattr(application, "build_app", lambda settings, _: built.append(settings))
    monkeypatch.chdir(tmp_path)
    named = {"jobs": "jobs.db", "review": "review.db", "audit": "", "models": {"letters": "runs/letters"}}
    ours.application(arguments() | named)
    ours.application(
        arguments() | {"jobs": "postgresql://someone@host/jobs", "models": {"letters": "models:/letters/1"}}
    )
    in_files, elsewhere = built
    assert (in_files.jobs, in_files.review, in_files.audit) == (f"{tmp_path}/jobs.db", f"{tmp_path}/review.db", "")
    assert in_files.models == {"letters": f"{tmp_path}/runs/letters"}
    assert elsewhere.jobs == "postgresql://someone@host/jobs"
    assert elsewhere.models == {"letters": "models:/letters/1"}
