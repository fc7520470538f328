"""Options that verbs share."""

import shlex

from layoutray.cli.shared import options


def test_a_shell_reads_the_command_back_without_passwords() -> None:
    arguments = [
        "small",
        "my examples",
        "--tracking-uri",
        "http://someone:s3cret@host:5000",
        "--set",
        "task={name='a'}",
    ]
    command = options.command_line("layoutray finetune", arguments)
    assert shlex.split(command) == [
        *("layoutray", "finetune", "small", "my examples"),
        *("--tracking-uri", "http://host:5000", "--set", "task={name='a'}"),
    ]
    assert options.command_line("layoutray demo", []) == "layoutray demo"
