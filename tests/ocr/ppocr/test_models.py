import hashlib
import io
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from PIL import Image

from layoutray.errors import MissingDependencyError
from layoutray.ocr import child, engines
from layoutray.ocr.ppocr import models
from layoutray.ocr.ppocr.page import LineReader
from layoutray.ocr.ppocr.settings import LATIN
from layoutray.ocr.settings import Recognition


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `rapidocr` without models; the result is the folder for them."""
    spec = ModuleSpec("rapidocr", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_the_version_names_the_package_and_the_models_of_the_settings_by_hash() -> None:
    engine = engines.load("rapidocr")
    hashed = r":[0-9a-f]{12}"
    names = ["detection-tiny", "PP-OCRv6_det_small", "recognition-tiny", "recognition-small"]
    accurate = engine.version(Recognition().settings)
    assert re.fullmatch(r"\d+\.\d+\.\d+ " + f"{hashed} ".join(names) + hashed, accurate)
    assert "det_small" not in engine.version(Recognition(profile="fast").settings)
    assert "recognition" not in engine.version(engine.settings(language="all"))
    assert "PP-OCRv6_rec_small" in engine.version(engine.settings(language="all"))


@pytest.mark.parametrize(("size", "lacking"), [("small", set()), ("tiny", {*"șțȘȚ"})])
def test_the_networks_of_the_package_know_the_letters_of_all_languages(size: str, lacking: set[str]) -> None:
    reader = LineReader(models.RECOGNITION[size], LATIN)
    assert reader.knows(LATIN - lacking)
    assert reader.knows(LATIN) == (not lacking)


def test_the_networks_are_those_that_their_readme_names() -> None:
    folder = Path(models.__file__).parent / "networks"
    stated = dict(re.findall(r"^\| `([\w-]+\.onnx)` .*`([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M))
    assert stated == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.onnx")}


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
    options = models.session(models.RECOGNITION["small"]).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


@pytest.mark.usefixtures("package")
def test_a_missing_model_says_what_to_do() -> None:
    with pytest.raises(MissingDependencyError, match=r"PP-OCRv6_rec_small.onnx of the package rapidocr is missing"):
        models.path_of(models.RECOGNITION["all"])


def test_a_damaged_model_says_what_to_do(package: Path) -> None:
    (package / models.RECOGNITION["all"]).write_bytes(b"no model")
    with pytest.raises(MissingDependencyError, match=r"cannot load the model .*; run `pip install --force-reinstall"):
        models.session(models.RECOGNITION["all"])
