"""What README, CONTRIBUTING and docs/ state exists: commands, flags, columns, recipe keys, files and anchors."""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from benchmarks.__main__ import main as benchmark
from layoutray import config
from layoutray.cli.main import main
from layoutray.cli.shared import options
from layoutray.cli.train import TrainOptions
from layoutray.recipe import recipes
from layoutray.recipe.files import RECIPES
from layoutray.recipe.ingest import load_ingest
from layoutray.recipe.mix import load_mix
from layoutray.store import schema
from layoutray.training.feed import check_share

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = sorted(str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").rglob("*.md"))
GUIDES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", *DOCS)
_TRAINERS = ("pretrain", "finetune")
HAVE_NAMES = ("benchmark", "dead-letters", "export", "keys", "picture")
"""Verbs whose first argument names another verb."""


def text_of(guide: str) -> str:
    return (REPOSITORY / guide).read_text(encoding="utf-8")


def blocks(guide: str, language: str) -> list[str]:
    """The fenced code blocks of a guide in one language; an empty one is that of blocks without a language."""
    fenced = re.findall(r"^```(\S*)\n(.*?)^```$", text_of(guide), re.M | re.S)
    return [block for name, block in fenced if name == language]


def commands(guide: str) -> Iterator[list[str]]:
    """Each command of a guide's ```bash blocks, as words."""
    for block in blocks(guide, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


EVERY_COMMAND = [words for guide in GUIDES for words in commands(guide)]


def verb_calls() -> list[tuple[str, tuple[str, ...]]]:
    """(verb, its arguments) of every `layoutray` call, alone or in `ray job submit`; group verbs with their name."""
    calls: list[tuple[str, tuple[str, ...]]] = []
    for words in EVERY_COMMAND:
        ours = [words[1:]] if words[0] == "layoutray" and words[1:] != ["--version"] else []
        ours += [
            [word.removeprefix("pipelines."), *words[at + 1 :]]
            for at, word in enumerate(words)
            if word.startswith("pipelines.")
        ]
        for verb, *arguments in ours:
            named = verb in HAVE_NAMES
            calls.append((" ".join([verb, *arguments[:named]]), tuple(arguments[named:])))
    return calls


def benchmark_calls() -> list[tuple[str, tuple[str, ...]]]:
    """(name, its arguments) of every call of `python -m benchmarks`."""
    return [
        (words[at + 1], tuple(words[at + 2 :]))
        for words in EVERY_COMMAND
        for at, word in enumerate(words)
        if word == "benchmarks" and words[at - 1] == "-m"
    ]


def unknown_flags(
    run: Callable[[list[str]], object],
    called: str,
    calls: Sequence[tuple[str, tuple[str, ...]]],
    capsys: pytest.CaptureFixture[str],
) -> set[str]:
    """The flags that the guides give to `called` and that its --help lacks."""
    with pytest.raises(SystemExit, match=r"^0$"):
        run([*called.split(), "--help"])
    shown = {word for name, arguments in calls if name == called for word in arguments if word.startswith("--")}
    return shown - set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.M))
    in_blocks = {
        word
        for words in EVERY_COMMAND
        if "make" in words
        for word in words[words.index("make") + 1 :]
        if "=" not in word
    }
    in_text = {found for guide in GUIDES for found in re.findall(r"`make ([a-z]+)", text_of(guide))}
    assert {"demo", "test"} <= in_blocks
    assert (in_blocks | in_text) - targets == set()


@pytest.mark.parametrize("verb", sorted({verb for verb, _ in verb_calls()}))
def test_every_verb_takes_the_flags_that_are_shown(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert unknown_flags(main, verb, verb_calls(), capsys) == set()


@pytest.mark.parametrize("name", sorted({name for name, _ in benchmark_calls()}))
def test_every_benchmark_takes_the_flags_that_are_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert unknown_flags(benchmark, name, benchmark_calls(), capsys) == set()


def test_the_table_of_verbs_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    section = text_of("README.md").partition("## Commands")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `([a-z-]+)` \|", section, re.M))
    assert main(["--help"]) == 0
    verbs = set(re.findall(r"^  ([a-z-]+)  ", "".join(capsys.readouterr()), re.M))
    assert listed == verbs - {"demo"}


def training_calls() -> list[tuple[str, tuple[str, ...]]]:
    """The trainings that the guides start on Ray workers."""
    return sorted({(verb, words) for verb, words in verb_calls() if verb in _TRAINERS and "--workers" in words})


@pytest.mark.parametrize(("verb", "words"), training_calls())
def test_every_training_that_is_shown_can_be_shared_by_its_workers(verb: str, words: tuple[str, ...]) -> None:
    chosen = options.given(verb, words, TrainOptions)
    settings = recipes.load(chosen.recipe, chosen.overrides).train
    assert check_share(settings.batch_size, settings.micro_batch_size, chosen.workers) >= chosen.workers


@pytest.mark.parametrize(
    ("name", "workers"),
    [("pretrain-tiny", 4), ("pretrain-skimformer", 4), ("finetune-formnet", 4), ("pretrain-lambert", 16)],
)
def test_recipes_for_several_workers_can_be_shared_by_them(name: str, workers: int) -> None:
    settings = recipes.load(name).train
    assert check_share(settings.batch_size, settings.micro_batch_size, workers) % workers == 0


def recipe_names() -> set[str]:
    """The recipes that commands name by the place of their first argument."""
    verbs = ("ingest", "mix", "encode", "pretrain", "finetune", "sweep")
    return {arguments[0] for verb, arguments in verb_calls() if verb in verbs and not arguments[0].endswith(".toml")}


def test_every_recipe_that_a_command_names_is_shipped() -> None:
    shipped = [*RECIPES.iterdir(), *(REPOSITORY / "benchmarks/recipes").iterdir()]
    assert recipe_names() - {file.name.removesuffix(".toml") for file in shipped} == set()


@pytest.mark.parametrize(("guide", "block"), [(guide, block) for guide in GUIDES for block in blocks(guide, "toml")])
def test_recipes_in_guides_are_valid(guide: str, block: str) -> None:
    assert recipes.from_dict(tomllib.loads(block)).name


def keys(settings: Mapping[str, Any]) -> Iterator[str]:
    """The names of all keys of nested settings."""
    for key, value in settings.items():
        yield key
        if isinstance(value, Mapping) and key != "model":
            yield from keys(value)


@pytest.mark.parametrize(
    "settings",
    [
        load_ingest("ingest-folder"),
        load_mix("mix", ["shares={a = 1.0}"]),
        recipes.load("finetune-scitldr"),
    ],
    ids=["ingest", "mix", "training"],
)
def test_every_recipe_key_is_explained(settings: Any) -> None:
    explained = {
        part
        for row in re.findall(r"^\| (`[^|]*) \|", text_of("docs/recipes.md"), re.M)
        for key in re.findall(r"`([\w.]+)`", row)
        for part in key.split(".")
    }
    sections = {"recognition", "rapidocr", "train", "filters", "a"}
    assert set(keys(config.to_dict(settings))) - explained - sections == set()


@pytest.mark.parametrize(
    ("heading", "table"),
    [
        ("PAGES", schema.PAGES),
        ("DOCUMENTS", schema.DOCUMENTS),
        ("DEAD LETTERS", schema.DEAD_LETTERS),
        ("EXAMPLES", schema.EXAMPLES),
        ("Answers of `predict`", schema.ANSWERS),
        ("Fields of `predict`", schema.FIELDS),
        ("Texts of `predict`", schema.TEXTS),
    ],
)
def test_tables_have_the_columns_that_are_explained(heading: str, table: pa.Schema) -> None:
    (section,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text_of("docs/tables.md"), re.M | re.S)
    rows = [row for row in section.splitlines() if row.startswith("|")]
    explained = re.findall(r"`([a-z_]+)`", " ".join(row.split("|")[1] for row in rows))
    assert sorted(explained) == sorted(table.names)


def anchors(guide: str) -> set[str]:
    """The anchors of a guide's headings, named as on GitHub."""
    prose = re.sub(r"^```.*?^```", "", text_of(guide), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", prose, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("guide", GUIDES)
def test_links_lead_somewhere(guide: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", text_of(guide)) + re.findall(r'(?:src|href)="([^"]+)"', text_of(guide))
    broken = []
    for link in (link for link in links if "://" not in link):
        path, _, anchor = link.partition("#")
        target = (REPOSITORY / guide).parent / path if path else REPOSITORY / guide
        missing = not target.exists() or REPOSITORY not in target.resolve().parents
        if missing or (anchor and anchor not in anchors(str(target.resolve().relative_to(REPOSITORY)))):
            broken.append(link)
    assert broken == []


def test_links_lead_from_the_readme_to_every_page_of_the_documentation() -> None:
    linked = set(re.findall(r"\]\((docs/[^)#]+)", text_of("README.md")))
    assert {page for page in DOCS if not page.startswith("docs/results/log/")} - linked == set()


def test_links_lead_from_results_to_every_log_of_trials() -> None:
    results = {page: text_of(page) for page in DOCS if re.fullmatch(r"docs/results/[a-z-]+\.md", page)}
    logs = {page.removeprefix("docs/results/") for page in DOCS if page.startswith("docs/results/log/")}
    assert {log for log in logs if f"({log})" not in results[f"docs/results/{Path(log).name}"]} == set()


@pytest.mark.parametrize(("guide", "most"), [("README.md", 220), ("CONTRIBUTING.md", 170)])
def test_guides_are_short(guide: str, most: int) -> None:
    assert len(text_of(guide).splitlines()) <= most


def test_the_glossary_has_few_words() -> None:
    _, _, *rows = re.findall(r"^\| ([^|]+) \|", text_of("docs/glossary.md"), re.M)
    words = [word.strip() for row in rows for word in row.split(",")]
    assert len(words) <= 40
    assert len(set(words)) == len(words)


def test_the_layers_of_the_guide_have_the_order_of_the_contract() -> None:
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    (block,) = blocks("CONTRIBUTING.md", "")
    rows = [re.split(r" {3,}", row)[0] for row in block.splitlines()]
    order = [name for row in rows for name in re.findall(r"\w+", row)]
    enforced = [name for layer in layers for name in re.findall(r"\w+", layer)]
    common = set(order) & set(enforced)
    rank = {name: at for at, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    ranks = [rank[name] for name in order if name in common]
    assert ranks == sorted(ranks)
    assert set(enforced) <= set(order)


def test_the_workflow_runs_the_targets_of_make() -> None:
    workflow = text_of(".github/workflows/check.yml")
    targets = re.findall(r"run: make ([a-z]+)", workflow)
    assert targets == ["check", "test"]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", used) for used in re.findall(r"uses: (\S+)", workflow))
    assert yaml.safe_load(workflow)["jobs"]
