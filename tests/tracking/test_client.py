"""MLflow fails before any work and in one line, which names the server or store, the model, and what there is."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.errors import InputError, TrackingError
from layoutray.tracking import client, registered, stores
from tests.mlflow_store import new_store


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    monkeypatch.setattr(stores, "_PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://someone:s3cret@127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[str]:
    """The address of a server that speaks another protocol."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            connection.recv(1000)
            connection.sendall(b"220 mail.example\r\n\r\n")
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("uri", ["silent", "other", "http://127.0.0.1:9", "postgresql://me:s3cret@127.0.0.1:9/x"])
def test_a_server_that_does_not_answer_is_named_at_once(uri: str, request: pytest.FixtureRequest) -> None:
    address = uri if "://" in uri else request.getfixturevalue(uri)
    with pytest.raises(TrackingError, match=r"MLflow at \w+://127\.0\.0\.1:.* does not answer: .*--tracking-uri") as no:
        client.connect(address)
    assert "s3cret" not in str(no.value)


def test_a_store_that_cannot_be_one_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk")
    wanted = {"no/such/mlflow.db": "does not exist; create it", "notes.txt": "is no SQLite file", "": "is no SQLite"}
    for place, message in wanted.items():
        with pytest.raises(TrackingError, match=message):
            client.connect(f"sqlite:///{tmp_path / place}")
    with pytest.raises(TrackingError, match="foo://bar cannot be a store of MLflow; give http"):
        client.connect("foo://bar")


@pytest.mark.parametrize(
    "call",
    [
        ["finetune", "finetune-fields", "examples", "--out", "out", "--workers", "2"],
        ["finetune", "finetune-fields", "examples", "--out", "out"],
        ["sweep", "finetune-fields", "examples", "--out", "out", "--over", "seed=1,2"],
        ["compare", "pages", "finetune-fields", "--out", "out"],
        ["learning-curve", "pages", "finetune-fields", "examples", "--out", "out"],
        ["predict", "models:/x@champion", "scans", "--out", "out"],
        ["evaluate", "models:/x@champion", "pages"],
        ["serve", "models:/x@champion"],
        ["promote", "x", "--on", "pages"],
        ["rollback", "x"],
    ],
    ids=lambda call: call[0],
)
def test_a_verb_asks_its_server_before_it_works(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scans").mkdir()
    assert main([*call, "--tracking-uri", "http://127.0.0.1:9"]) == 1
    assert capsys.readouterr().err.startswith("error: MLflow at http://127.0.0.1:9 does not answer: ")
    assert os.listdir(tmp_path) == ["scans"]


@pytest.mark.parametrize("verb", ["finetune", "sweep"])
@pytest.mark.parametrize("name", ["a/b", "a:b", "a@b", " ", ".."])
def test_a_name_that_no_model_can_have_is_refused_before_work(
    verb: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    over = ["--over", "seed=1,2"] if verb == "sweep" else []
    assert main([verb, "finetune-fields", "examples", "--out", "out", "--register", name, *over]) == 1
    assert capsys.readouterr().err.startswith(f"error: {name!r} cannot be the name of a registered model; ")


def test_what_the_registry_has_is_said(tmp_path: Path) -> None:
    uri = new_store(tmp_path)
    with pytest.raises(TrackingError, match="models:/x@champion: no model is registered there; another store is named"):
        registered.resolve("models:/x@champion", uri)
    mlflow = client.connect(uri)
    mlflow.create_registered_model("bills")
    version = mlflow.create_model_version("bills", str(tmp_path)).version
    mlflow.set_registered_model_alias("bills", "champion", version)
    with pytest.raises(TrackingError, match="models:/x/1: the registered models are bills there"):
        registered.resolve("models:/x/1", uri)
    for model in ("models:/bills@prod", "models:/bills", "models:/bills/7", "models:/bills@"):
        with pytest.raises(InputError, match=rf"give models:/bills@champion \(version {version}\), or a version as in"):
            registered.resolve(model, uri)
    with pytest.raises(TrackingError, match="there is no registered model 'x': the registered models are bills"):
        registered.rollback("x", uri)


def test_looking_for_a_model_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"mlflow\.db does not exist, so it knows no model; run the command in"):
        registered.resolve("models:/x@champion", f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert not os.listdir(tmp_path)
