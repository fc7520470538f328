import io
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from PIL import Image

from layoutray.errors import MissingDependencyError
from layoutray.ocr import child
from layoutray.ocr.ppocr import models
from layoutray.ocr.settings import Recognition


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `rapidocr` without models; the result is the folder for them."""
    spec = ModuleSpec("rapidocr", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_the_version_names_the_package_and_both_models_by_hash() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+ detection:[0-9a-f]{12} recognition:[0-9a-f]{12}", models.version())


def test_an_engine_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "layoutray.ocr.ppocr.models")
    # The package keeps its modules as attributes, too.
    monkeypatch.delattr("layoutray.ocr.ppocr.models")
    picture = io.BytesIO()
    Image.new("L", (40, 40), 255).save(picture, "PNG")
    answer = child._answer({"do": "recognise", "number": 1}, picture.getvalue(), Recognition(engine="rapidocr"))  # pyright: ignore[reportPrivateUsage]
    assert re.fullmatch(
        r"the OCR engine rapidocr needs the extra ocr \(.*onnxruntime.*\); install: pip install 'layoutray\[ocr\]'",
        answer["missing"],
    )


def test_a_session_uses_one_thread() -> None:
    options = models.session(models.RECOGNITION).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


@pytest.mark.usefixtures("package")
def test_a_missing_model_says_what_to_do() -> None:
    with pytest.raises(MissingDependencyError, match=r"PP-OCRv6_rec_small.onnx of the package rapidocr is missing"):
        models.path_of(models.RECOGNITION)


def test_a_damaged_model_says_what_to_do(package: Path) -> None:
    (package / models.RECOGNITION).write_bytes(b"no model")
    with pytest.raises(MissingDependencyError, match=r"cannot load the model .*; run `pip install --force-reinstall"):
        models.session(models.RECOGNITION)
