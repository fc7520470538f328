"""A registry that lies: each answer is one error of one kind, and writes nothing outside the folder of copies."""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from layoutray.devices import CPU
from layoutray.errors import TrackingError
from layoutray.serving import trial
from layoutray.serving.model import Loader, Version, VersionError
from layoutray.store import node_cache
from layoutray.tracking import registered
from tests.cluster.checkpoints import save_untrained
from tests.lying_registry import LyingRegistry, lying_registry

MODEL = "models:/forms@champion"


@pytest.fixture(autouse=True)
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAYOUTRAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    return tmp_path / "cache"


@pytest.fixture
def registry() -> Iterator[LyingRegistry]:
    with lying_registry() as started:
        yield started


@pytest.mark.parametrize(
    "said",
    [None, b"<html>", b"", b"[1]", b"null", b"7", b"{}", b"[" * 100_000, b'{"model_version": 3}', b"\xff\xfe", b'"x"'],
)
def test_an_answer_that_is_none_is_an_error_of_the_registry(registry: LyingRegistry, said: bytes | None) -> None:
    registry.lie = lambda *_: said
    with pytest.raises(TrackingError, match="MLflow at http://"):
        registered.resolve(MODEL, registry.url)


@pytest.mark.parametrize("version", ["../../etc", "1/../../x", "-1", "", "1\n", "٣", "9" * 30, "x" * 10**6, {"a": 1}])
def test_a_version_that_is_no_number_is_refused(registry: LyingRegistry, version: Any) -> None:
    registry.version = version
    with pytest.raises(TrackingError, match="MLflow at http://") as refused:
        registered.resolve(MODEL, registry.url)
    assert len(str(refused.value)) < 1000


def serve_files(registry: LyingRegistry, folder: Path, more: list[dict[str, Any]]) -> None:
    """Let the registry hand out the files of a folder; every listing also has `more`."""
    registry.sources["1"] = "mlflow-artifacts:/model"

    def answer(path: str, query: dict[str, str]) -> Any:
        if path.endswith("/mlflow-artifacts/artifacts"):
            registry.listed.append(query.get("path", ""))
            below = query.get("path", "") != "model"
            named = [{"path": one.name, "is_dir": False, "file_size": 1} for one in folder.iterdir()]
            deep = query.get("path", "").count("/") > 20  # MLflow itself ends at a depth of some hundreds
            return {"files": [] if deep else more if below else named + more}
        return (folder / posixpath.basename(path)).read_bytes() if "/mlflow-artifacts/" in path else NotImplemented

    registry.lie = answer


def test_a_listing_without_end_ends_with_its_trial(
    registry: LyingRegistry, tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_untrained(tmp_path / "model")
    serve_files(registry, tmp_path / "model", [{"path": name, "is_dir": True} for name in ("deeper", "wider")])
    with pytest.raises(VersionError, match="nowhere"):  # starts the process from which trials are forked
        trial.load_tried(Loader(CPU, str), Version("nowhere", "1"))
    monkeypatch.setattr(trial, "_SECONDS", 5)
    with pytest.raises(VersionError, match="within 5 s"):
        trial.load_tried(Loader(CPU, registered.fetcher(registry.url)), Version("models:/forms/1", "1"))
    assert any("deeper" in one for one in registry.listed)
    assert [one.name for one in (copies / "models").iterdir() if not one.name.startswith(node_cache.HALF_MADE)] == []


@pytest.mark.parametrize("path", ["../../labels.json", "/tmp/labels.json", "..", "a/../../recipe.json"])
def test_a_file_outside_is_not_written(registry: LyingRegistry, tmp_path: Path, copies: Path, path: str) -> None:
    save_untrained(tmp_path / "model")
    serve_files(registry, tmp_path / "model", [{"path": path, "is_dir": False}])
    before = set(tmp_path.rglob("*")) - set(copies.rglob("*"))
    with pytest.raises(TrackingError, match="cannot download models:/forms/1"):
        registered.fetch("models:/forms/1", registry.url)
    assert set(tmp_path.rglob("*")) - set(copies.rglob("*")) - {copies} == before - {copies}
    assert [one for one in copies.rglob("*") if one.is_file()] == []
