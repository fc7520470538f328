"""What replay refuses, before it starts any work; what it does is shown in tests/cli/test_dead_letters.py."""

import json
from pathlib import Path

import pytest

from layoutray.cluster.replay import replay
from layoutray.errors import InputError, RecipeError, SchemaError
from layoutray.prepare.manifest import IngestRun, Manifest, make_manifest
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import Plan
from layoutray.recipe.ingest import IngestRecipe


@pytest.fixture
def out(tmp_path: Path) -> str:
    """A folder that an ingest without any page has filled."""
    output = Output(str(tmp_path / "out"))
    make_manifest(
        str(tmp_path),
        output,
        Plan(page_tasks=(), documents=(), letters=(), duplicates=(), repairs=0, dropped=0),
        IngestRecipe(reader="folder"),
        IngestRun(0, 1.0, 1),
    ).write(output.folder)
    return output.folder


def test_a_manifest_is_read_as_it_was_written(out: str) -> None:
    assert Manifest.read(out).recipe() == IngestRecipe(reader="folder")


def test_only_recognition_may_change(out: str) -> None:
    with pytest.raises(RecipeError, match=r"dev_share=0: replay can change keys of recognition only"):
        replay(out, [], ["dev_share=0"], workers=1)


def test_an_ingest_that_has_not_ended_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no manifest\.json; give a folder that `layoutray ingest` has completed"):
        replay(str(tmp_path), [], workers=1)


@pytest.mark.parametrize("changes", [{"settings_hash": "0"}, {"pages_found": 3}, {"run": None}])
def test_a_manifest_of_another_version_is_refused_with_what_to_do(out: str, changes: dict[str, object]) -> None:
    file = Path(out, "manifest.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    with pytest.raises(SchemaError, match="run `layoutray ingest` again"):
        replay(out, [], workers=1)
