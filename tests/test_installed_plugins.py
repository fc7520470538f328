"""An installed package adds an architecture, a reader and a recipe: all are found by their names, like our own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForTokenClassification

from layoutray import checkpoint, readers, registry
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from layoutray.errors import CheckpointError, RecipeError
from layoutray.recipe import recipes
from layoutray.recipe.ingest import load_ingest
from tests.jobs import job, vocabulary
from tests.training.runs import alone

PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "bag-of-words"
version = "1.0"

[project.entry-points."layoutray.architectures"]
bag = "bag_of_words.bag"

[project.entry-points."layoutray.readers"]
lists = "bag_of_words.lists"

[project.entry-points."layoutray.tasks"]
broken = "bag_of_words.lists"

[project.entry-points."layoutray.recipe.shipped"]
bag_of_words = "bag_of_words"

[tool.setuptools]
packages = ["bag_of_words"]
package-data = { bag_of_words = ["*.toml"] }
"""

ARCHITECTURE = '''
"""Every token sees the mean of its window."""

from dataclasses import dataclass

from torch import nn

from layoutray.architectures import Architecture, check_ranges
from layoutray.nn.initialise import initialise
from layoutray.tensors import Encoded


@dataclass(frozen=True)
class BagConfig:
    hidden: int = 16
    layers: int = 1
    dropout: float = 0.0
    max_length: int = 128

    def __post_init__(self):
        check_ranges(self, smallest={})


class Bag(nn.Module):
    norm_epsilon = 1e-12

    def __init__(self, config, *, vocab_size, pad_id):
        super().__init__()
        self.width, self.max_length = config.hidden, config.max_length
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.mix = nn.Linear(config.hidden, config.hidden)

    def forward(self, batch):
        words = self.word_embedding(batch.input_ids) * batch.mask[..., None]
        mean = words.sum(1, keepdim=True) / batch.mask.sum(1).clamp(min=1)[:, None, None]
        return Encoded.of_all_tokens(words + self.mix(mean), batch.mask)


SIZES = {name: BagConfig() for name in ("tiny", "small", "base")}
ARCHITECTURE = Architecture(name="bag", config=BagConfig, sizes=SIZES, build=Bag, initialise=initialise)
'''

READER = '''
"""Lists: the text of each .list file."""

from layoutray.readers import DocumentRef, Truth
from layoutray.readers.texts import typeset_pages
from layoutray.store import sources


class _Lists:
    name = "lists"
    tags = ""

    def discover(self, root):
        for file in sorted(sources.list_files(root)):
            yield DocumentRef(key=sources.name(file), source=file, image="", annotation="", split="")

    def read(self, reference):
        data = sources.read_bytes(reference.source)
        pages = typeset_pages(data.decode(), sources.content_id(data), reference.source)
        return Truth(document=reference.document(sources.content_id(data), len(pages)), pages=pages)


READER = _Lists()
'''

RECIPE = """
name = "pretrain-bag"
max_length = 48
[task]
name = "masked_lm"
[model]
arch = "bag"
size = "tiny"
[tokenizer]
vocab_size = 120
[train]
steps = 3
batch_size = 8
micro_batch_size = 4
learning_rate = 1e-3
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package."""
    project, site = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("site")
    package = project / "bag_of_words"
    package.mkdir()
    files = {"__init__.py": "", "bag.py": ARCHITECTURE, "lists.py": READER, "pretrain-bag.toml": RECIPE}
    for name, content in files.items():
        (package / name).write_text(content)
    (project / "pyproject.toml").write_text(PROJECT)
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--target", str(site))
    subprocess.run([sys.executable, "-m", "pip", "install", *offline, str(project)], check=True)
    return site


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(site)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "bag_of_words"]:
        del sys.modules[name]


@pytest.mark.usefixtures("installed")
def test_names_of_an_installed_package_are_listed_beside_ours() -> None:
    names = registry.names("layoutray.architectures", "ARCHITECTURE")
    assert {"bag", "skimformer"} <= set(names)
    assert registry.names("layoutray.readers", "READER").count("lists") == 1
    for message in (
        r"model\.arch: unknown name 'bags' in architectures; known: bag, .*skimformer",
        r"no recipe called 'bag'; shipped: .*pretrain-bag",
    ):
        with pytest.raises(RecipeError, match=message):
            recipes.load(*(["pretrain-bag", ["model.arch=bags"]] if "arch" in message else ["bag"]))


@pytest.mark.usefixtures("installed")
def test_its_reader_reads_documents(tmp_path: Path) -> None:
    (tmp_path / "fruit.list").write_text("apples and pears")
    reader = readers.load(load_ingest(str(recipe_of(tmp_path, "lists"))).reader)
    (item,) = reader.discover(str(tmp_path / "fruit.list"))
    assert [word.text for word in reader.read(item).pages[0].words] == ["apples", "and", "pears"]


def recipe_of(folder: Path, reader: str) -> Path:
    file = folder / "ingest.toml"
    file.write_text(f'reader = "{reader}"\nwords = "annotation"\n')
    return file


def test_its_architecture_is_trained_stored_and_exported_and_named_where_it_is_missing(
    site: Path, installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(tmp_path, recipes.load("pretrain-bag"))
    assert len(alone(one)["loss"]) == 3
    assert checkpoint.load(one.out).recipe.arch == "bag"
    labelled = recipes.from_dict(recipes.load("pretrain-bag").to_dict() | {"task": {"name": "entities"}})
    labels = ("O", "B-total", "I-total")
    model = checkpoint.build_model(labelled, vocabulary(), labels)
    checkpoint.save(
        tmp_path / "tagger",
        Checkpoint(recipe=labelled, labels=labels, tokenizer=vocabulary(), model=model, metrics={}, provenance={}),
    )
    assert main(["export", "huggingface", str(tmp_path / "tagger"), str(tmp_path / "exported")]) == 0
    exported = AutoModelForTokenClassification.from_pretrained(tmp_path / "exported")
    assert torch.equal(exported.encoder.word_embedding.weight, model.state_dict()["encoder.word_embedding.weight"])
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(site)])
    with pytest.raises(CheckpointError, match=r"unknown name 'bag' in architectures; .* install that package"):
        checkpoint.load(one.out)


@pytest.mark.usefixtures("installed")
def test_an_entry_point_to_a_module_without_the_constant_is_named() -> None:
    message = (
        "plug-in 'broken' of bag-of-words is bag_of_words.lists, which does not define TASK; the entry point must name "
    )
    with pytest.raises(RecipeError, match=message):
        recipes.load("pretrain-bag", ["task.name=broken"])
