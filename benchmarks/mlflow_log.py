"""The results of a benchmark as an MLflow run."""

import json
from collections.abc import Mapping
from typing import Any

from layoutray.cli.shared import terminal
from layoutray.tracking import runs, stores


def log(benchmark: str, parameters: Mapping[str, Any], results: Any, pictures: Mapping[str, bytes]) -> None:
    """Write a finished run of the experiment `benchmarks`, with `results` as JSON and `pictures` as PNG files.

    The store is the one that MLFLOW_TRACKING_URI names (default: ./mlflow.db).
    """
    run = runs.create_run(stores.default_uri(), "benchmarks", benchmark, parameters, {})
    run.client.log_text(run.run_id, json.dumps(results, indent=2), f"{benchmark}.json")
    for name, picture in pictures.items():
        run.log_picture(name, picture)
    run.finish()
    terminal.say(f"MLflow run: {run.run_id}")
