"""What README and CONTRIBUTING promise is there: commands, flags, columns, files."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from layoutray.cli.main import main
from layoutray.cli.verbs import VERBS
from layoutray.store import schema

REPOSITORY = Path(__file__).resolve().parents[1]
GUIDES = ("README.md", "CONTRIBUTING.md", "infra/README.md")


def commands(guide: str) -> Iterator[list[str]]:
    """Each command of a guide's ```bash blocks, as words."""
    for block in re.findall(r"^```bash\n(.*?)^```", (REPOSITORY / guide).read_text(), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


EVERY_COMMAND = [words for guide in GUIDES for words in commands(guide)]


def verb_calls() -> list[tuple[str, tuple[str, ...]]]:
    """(verb, its arguments) of every call of one of ours, alone or behind `ray job submit`; of `benchmark` and the like with its name."""
    calls: list[tuple[str, tuple[str, ...]]] = []
    for words in EVERY_COMMAND:
        ours = [words[1:]] if words[0] == "layoutray" else []
        ours += [
            [word.removeprefix("pipelines."), *words[at + 1 :]]
            for at, word in enumerate(words)
            if word.startswith("pipelines.")
        ]
        for verb, *arguments in ours:
            named = verb in ("benchmark", "dead-letters", "export", "picture")
            calls.append((" ".join([verb, *arguments[:named]]), tuple(arguments[named:])))
    return calls


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), re.M))
    in_blocks = {
        word
        for words in EVERY_COMMAND
        if "make" in words
        for word in words[words.index("make") + 1 :]
        if "=" not in word
    }
    in_text = {found for guide in GUIDES for found in re.findall(r"`make ([a-z]+)", (REPOSITORY / guide).read_text())}
    assert {"demo", "test"} <= in_blocks
    assert (in_blocks | in_text) - targets == set()


@pytest.mark.parametrize("verb", sorted({verb for verb, _ in verb_calls()}))
def test_every_verb_takes_the_flags_that_are_shown(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main([*verb.split(), "--help"])
    shown = {
        word for called, arguments in verb_calls() if called == verb for word in arguments if word.startswith("--")
    }
    known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    assert shown - known == set()


def test_the_table_of_verbs_is_complete() -> None:
    listed = set(
        re.findall(
            r"^\| `([a-z-]+)` \|",
            (REPOSITORY / "README.md").read_text().partition("## The verbs")[2].partition("###")[0],
            re.M,
        )
    )
    assert listed == {name.partition(" ")[0] for name in VERBS} - {"demo"}


@pytest.mark.parametrize(
    ("heading", "table"),
    [
        ("PAGES, one row", schema.PAGES),
        ("DOCUMENTS, one row", schema.DOCUMENTS),
        ("DEAD LETTERS, one row", schema.DEAD_LETTERS),
        ("EXAMPLES, one row", schema.EXAMPLES),
        ("Answers of `predict`, one row", schema.ANSWERS),
        ("Fields of `predict`, one row", schema.FIELDS),
        ("Texts of `predict`, one row", schema.TEXTS),
    ],
)
def test_tables_have_the_columns_that_are_explained(heading: str, table: pa.Schema) -> None:
    (rows,) = re.findall(
        rf"^{re.escape(heading)}.*?\n\n((?:\|[^\n]*\n)+)", (REPOSITORY / "README.md").read_text(), re.M | re.S
    )
    explained = re.findall(r"`([a-z_]+)`", " ".join(row.split("|")[1] for row in rows.splitlines()))
    assert sorted(explained) == sorted(table.names)


@pytest.mark.parametrize("guide", GUIDES)
def test_links_lead_somewhere(guide: str) -> None:
    text = (REPOSITORY / guide).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not ((REPOSITORY / guide).parent / link).exists()] == []


def test_no_number_is_missing() -> None:
    assert re.findall(r"<<[A-Z]+", (REPOSITORY / "README.md").read_text()) == []
