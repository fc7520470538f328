import dataclasses
from pathlib import Path

import pytest

from layoutray.cluster.ingest import plan_ingest
from layoutray.errors import InputError
from layoutray.recipe.ingest import IngestRecipe
from tests.ocr.files import encoded, picture

RECIPE = IngestRecipe(reader="folder")


def test_only_files_of_the_wanted_names_are_documents(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(encoded(picture(name), "PNG"))
    (tmp_path / "notes.txt").write_text("no page")
    plan = plan_ingest(str(tmp_path), dataclasses.replace(RECIPE, only="*.png"))
    assert (len(plan.documents), len(plan.letters)) == (2, 0)
    with pytest.raises(InputError, match=r"no document .* has a name that matches '\*\.pdf'; change `only`"):
        plan_ingest(str(tmp_path), dataclasses.replace(RECIPE, only="*.pdf"))
