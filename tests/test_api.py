"""The Python API: what `import layoutray` offers, and what it does not import."""

import subprocess
import sys
from pathlib import Path

import pytest

import layoutray
from layoutray.errors import CheckpointError, DocumentError, SchemaError
from tests.jobs import NO_DROPOUT, job, page, pages, recipe, write_pages
from tests.ocr.files import pdf, typed
from tests.training.runs import alone


def test_importing_the_package_imports_no_heavy_library() -> None:
    program = (
        "import layoutray, sys; print([name for name in ('torch', 'mlflow', 'ray', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_api_is_listed_and_other_names_are_refused() -> None:
    assert {"load_extractor", "open_pages", "read_pages"} <= set(dir(layoutray))
    with pytest.raises(AttributeError, match="module 'layoutray' has no attribute 'read_page'"):
        layoutray.read_page  # noqa: B018


def test_pages_of_a_pdf_come_with_their_words(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(pdf(typed("the first page", x=20, y=700), typed("second page", x=20, y=700)))
    first, second = layoutray.read_pages(tmp_path / "scan.pdf")
    assert (first.number, len(first.words), first.provenance.words) == (1, 3, "text_layer")
    assert [word.text for word in second.words] == ["second", "page"]
    assert first.source.endswith("scan.pdf")


def test_a_file_that_is_no_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("not a picture")
    with pytest.raises(DocumentError, match="of an unknown type"):
        layoutray.read_pages(tmp_path / "notes")


def test_an_extractor_answers_the_pages_of_a_data_set(tmp_path: Path) -> None:
    trained = job(tmp_path, recipe("entities", model=NO_DROPOUT, steps=1, max_length=24), pages(2))
    alone(trained)
    extractor = layoutray.load_extractor(trained.out)
    (answer,) = extractor.answers([page(3)])
    assert (answer.model_id, answer.status) == ("small-entities", "success")
    assert extractor.answer_fields([page(3)]) == ()


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        layoutray.load_extractor(tmp_path)


def test_pages_open_as_an_arrow_table(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "set", pages(3))
    table = layoutray.open_pages(folder, ["doc_id", "split"])
    assert (table.num_rows, table.column_names) == (3, ["doc_id", "split"])
    with pytest.raises(SchemaError, match="give the folder of the data set"):
        layoutray.open_pages(f"{folder}/pages")
