"""Where a run comes from, as MLflow's UI shows it."""

import getpass

from layoutray.tracking import origin


def test_the_tags_name_the_verb_the_person_and_the_command() -> None:
    tags = origin.tags("layoutray finetune small examples --out runs")
    assert (
        tags.items()
        >= {
            "mlflow.source.name": "layoutray finetune",
            "mlflow.source.type": "LOCAL",
            "mlflow.user": getpass.getuser(),
            "command": "layoutray finetune small examples --out runs",
        }.items()
    )
    assert all(tags.values())
