"""Overlays of an evaluation show the entities of their page, whatever its number."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from layoutray.document import Page, Provenance
from layoutray.evaluation.pictures import PageOverlay
from tests.ocr.files import pdf
from tests.report.test_overlay import entity


@pytest.mark.parametrize("number", [1, 2])
def test_entities_are_drawn_on_the_page_that_they_are_on(tmp_path: Path, number: int) -> None:
    (tmp_path / "two.pdf").write_bytes(pdf("", ""))
    page = Page(
        doc_id="d",
        number=number,
        width=600,
        height=800,
        words=(),
        source="two.pdf",
        image=str(tmp_path / "two.pdf"),
        split="test",
        provenance=Provenance(words="annotation", reason="made up"),
    )
    found = entity("total", (100, 200, 300, 260), page=number)
    drawn = PageOverlay(page=page, entities=(found,), truth=(), types=("total",)).png()
    plain = PageOverlay(page=page, entities=(), truth=(), types=("total",)).png()
    pictures = [np.asarray(Image.open(io.BytesIO(one)).convert("RGB"))[:, :500] for one in (drawn, plain)]
    assert (pictures[0] != pictures[1]).any()
