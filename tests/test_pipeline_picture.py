"""The picture of the pipeline in the README is the one that docs/pipeline.py draws of the present verbs and folders."""

import runpy
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def drawing() -> dict[str, Any]:
    return runpy.run_path(str(REPOSITORY / "docs/pipeline.py"))


def test_the_committed_picture_is_the_one_that_the_script_draws(drawing: dict[str, Any]) -> None:
    assert drawing["PICTURE"].read_text(encoding="utf-8") == drawing["picture"](), "run `python docs/pipeline.py`"


def test_a_verb_without_a_place_in_the_picture_is_an_error(
    drawing: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(drawing["VERBS"], "translate", drawing["VERBS"]["ingest"])
    with pytest.raises(ValueError, match=r"each verb once; wrong or missing: translate$"):
        drawing["check"]()
