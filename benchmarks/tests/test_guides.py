"""The commands of the guides name benchmarks and options that exist."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.__main__ import benchmarks, main

REPOSITORY = Path(__file__).resolve().parents[2]


def guides() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for line in listed.stdout.splitlines() if (path := REPOSITORY / line).is_file()]


def calls() -> Iterator[tuple[str, set[str]]]:
    """(benchmark, its options) of each call in a ```bash block."""
    for guide in guides():
        for block in re.findall(r"^```bash\n(.*?)^```", guide.read_text(), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if "benchmarks" in words and words[words.index("benchmarks") - 1] == "-m":
                    name, *arguments = [*words[words.index("benchmarks") + 1 :], ""]
                    yield name, {word for word in arguments if word.startswith("--")}


@pytest.mark.parametrize("name", sorted({name for name, _ in calls()} - {""}))
def test_every_benchmark_takes_the_options_that_are_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert name in benchmarks()
    with pytest.raises(SystemExit, match=r"^0$"):
        main([name, "--help"])
    known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    assert set().union(*(options for called, options in calls() if called == name)) - known == set()


def test_the_readme_lists_every_benchmark() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", (REPOSITORY / "benchmarks/README.md").read_text(), re.M)
    assert sorted(rows) == sorted(benchmarks())
