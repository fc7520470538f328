import hashlib
from pathlib import Path

import pytest

from layoutray.errors import MissingDependencyError
from layoutray.ocr.tesseract.tessdata import find_folder, fingerprint


@pytest.mark.parametrize("inside", ["", "tessdata"])
def test_the_environment_says_where_language_data_lies(
    inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / inside
    folder.mkdir(exist_ok=True)
    for code in ("xaa", "xbb"):
        (folder / f"{code}.traineddata").write_bytes(code.encode())
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    assert find_folder("xaa+xbb") == folder


def test_a_missing_language_is_an_error_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    with pytest.raises(
        MissingDependencyError, match="apt-get install tesseract-ocr tesseract-ocr-xaa tesseract-ocr-xbb-old"
    ) as caught:
        find_folder("xaa+xbb_old")
    assert str(tmp_path) in str(caught.value)


def test_the_fingerprint_changes_with_the_data(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "xaa.traineddata").write_bytes(name.encode())
    assert fingerprint(tmp_path / "one", "xaa") == f"xaa:{hashlib.sha256(b'one').hexdigest()[:12]}"
    assert fingerprint(tmp_path / "one", "xaa") != fingerprint(tmp_path / "two", "xaa")
