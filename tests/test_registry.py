"""A plug-in is a file: dropping one into a package is all it takes, and asking for one imports no other."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutray import registry
from layoutray.errors import InputError


@pytest.fixture
def seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package `seam` with the plug-ins `circle` and `square`, and a module that is none."""
    folder = tmp_path / "seam"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "circle.py").write_text("SHAPE = 'round'\n")
    (folder / "square.py").write_text("SHAPE = 'four corners'\n")
    (folder / "settings.py").write_text("SIZE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "seam"
    for name in [name for name in sys.modules if name.partition(".")[0] == "seam"]:
        del sys.modules[name]


def test_names_are_the_modules_that_end_in_the_constant(seam: str) -> None:
    assert registry.names(seam, "SHAPE") == ("circle", "square")


def test_load_gives_the_constant_and_imports_that_module_alone(seam: str) -> None:
    assert registry.load(seam, "SHAPE", "square") == "four corners"
    assert "seam.square" in sys.modules
    assert "seam.circle" not in sys.modules


@pytest.mark.parametrize("name", ["triangle", "settings", "../circle", "seam.circle", "os.path", ""])
def test_an_unknown_name_is_refused_with_the_known_ones(seam: str, name: str) -> None:
    with pytest.raises(InputError) as caught:
        registry.load(seam, "SHAPE", name)
    assert str(caught.value) == (
        f"unknown name {name!r} in seam; known: circle, square; "
        "if it is a plug-in of another package, install that package"
    )


def test_an_error_inside_a_plug_in_is_not_taken_for_an_unknown_name(seam: str, tmp_path: Path) -> None:
    (tmp_path / "seam" / "broken.py").write_text("import no_such_module_at_all\nSHAPE = 1\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        registry.load(seam, "SHAPE", "broken")
