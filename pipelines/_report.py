"""What a benchmark has found, as a run of MLflow: its numbers as JSON, and its pictures."""

import json
from collections.abc import Mapping
from typing import Any

from layoutray import tracking
from layoutray.cli import terminal


def log(benchmark: str, parameters: Mapping[str, Any], found: Any, pictures: Mapping[str, bytes]) -> None:
    """A finished run of experiment `benchmarks`, in the store that MLFLOW_TRACKING_URI names (default: ./mlflow.db)."""
    run = tracking.create_run(tracking.default_uri(), "benchmarks", benchmark, parameters, {})
    run.client.log_text(run.run_id, json.dumps(found, indent=2), f"{benchmark}.json")
    for name, picture in pictures.items():
        run.log_picture(name, picture)
    run.finish()
    terminal.say(f"MLflow run: {run.run_id}")
