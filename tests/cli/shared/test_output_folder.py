"""Output folders are emptied only if what is in them may be deleted."""

from pathlib import Path

import pytest

from layoutray.cli import demo
from layoutray.cli.shared import output_folder
from layoutray.errors import InputError


def test_a_demo_deletes_only_the_folder_of_an_earlier_demo(tmp_path: Path) -> None:
    kept = tmp_path / "runs/pages/part.parquet"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"days of work")
    with pytest.raises(InputError, match=r"runs is not empty and was not made by the demo"):
        demo.main(["--out", str(tmp_path / "runs")])
    assert kept.read_bytes() == b"days of work"
    folder = tmp_path / "runs/demo"
    for _ in range(2):  # a new folder, then that of the demo before
        output_folder.start_demo_folder(folder)
        assert [file.name for file in folder.iterdir()] == [".layoutray-demo"]
        (folder / "drawn").mkdir()
        (folder / "drawn/page.png").touch()
    assert kept.exists()


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    output_folder.start_demo_folder(tmp_path)
    assert (tmp_path / ".layoutray-demo").is_file()
