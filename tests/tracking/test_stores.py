"""A SQLite file of MLflow is the same one for all processes."""

from pathlib import Path

import pytest

from layoutray.tracking import runs, stores
from tests import fork_server


@pytest.mark.slow
def test_processes_may_make_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    call = (f"sqlite:///{tmp_path}/new.db", "shared", "run", {}, {})
    both = [fork_server.start(runs.create_run, *call) for _ in range(2)]
    assert list(map(fork_server.exit_code, both)) == [0, 0]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.db"]


def test_artifacts_are_beside_a_file_and_where_a_server_decides(tmp_path: Path) -> None:
    assert stores.artifacts(f"sqlite:///{tmp_path}/mlflow.db") == f"file://{tmp_path}/mlartifacts"
    assert stores.artifacts("http://127.0.0.1:5000") is None


def test_name_and_password_are_left_out_of_an_address() -> None:
    assert stores.without_password("http://someone:s3c@ret@host:5000/a") == "http://host:5000/a"
    assert stores.without_password("sqlite:////data/mlflow.db") == "sqlite:////data/mlflow.db"
