"""Where a run comes from, as MLflow's UI shows it."""

import getpass
import shlex

from layoutray.tracking import origin


def test_a_shell_reads_the_command_back_without_passwords() -> None:
    arguments = [
        "small",
        "my examples",
        "--tracking-uri",
        "http://someone:s3cret@host:5000",
        "--set",
        "task={name='a'}",
    ]
    command = origin.command_line("layoutray finetune", arguments)
    assert shlex.split(command) == [
        *("layoutray", "finetune", "small", "my examples"),
        *("--tracking-uri", "http://host:5000", "--set", "task={name='a'}"),
    ]
    assert origin.command_line("layoutray demo", []) == "layoutray demo"


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
