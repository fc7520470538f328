"""MLflow stores for tests: a SQLite file with MLflow's tables, which take seconds to make, and a copy of it for each.

`experiments/test_stores.py` and `cli/test_finetune.py` let MLflow make its tables.
"""

import functools
import tempfile
from pathlib import Path

from mlflow.tracking import MlflowClient


def new_store(folder: Path) -> str:
    """URI of an empty store, the file `mlflow.db` in `folder`."""
    file = folder / "mlflow.db"
    file.write_bytes(_tables())
    return f"sqlite:///{file}"


@functools.cache
def _tables() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tables.db")
        MlflowClient(tracking_uri=f"sqlite:///{file}").search_experiments()
        return file.read_bytes()
