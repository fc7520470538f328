import hashlib
import os
from pathlib import Path

import pytest

from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import load
from layoutray.store import sources
from tests.readers.native import put

READER = load("folder")
NAMES = [
    b"plain.png",
    b"no suffix",
    b"100%41 #1?.pdf",
    b"new\nline.tif",
    "żółć 漢字 🧾.jpg".encode(),
    "cafe\u0301.png".encode(),
    "café.png".encode(),
    b"latin-1 caf\xe9.png",
    b"\xff\xfe.png",
    b"folder \xe9/inside.png",
    b"deep/er/empty.png",
]


def fill(root: Path) -> None:
    for name in NAMES:
        path = os.path.join(os.fsencode(root), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(name)


def test_every_file_is_an_item_whatever_its_name(tmp_path: Path) -> None:
    fill(tmp_path)
    found = list(READER.discover(str(tmp_path)))
    assert {sources.read_bytes(item.source) for item in found} == set(NAMES)
    assert len(found) == len(NAMES)
    assert all(item.source == item.image and not item.annotation for item in found)


def test_names_can_be_written_down_and_taken_back(tmp_path: Path) -> None:
    fill(tmp_path)
    for item in READER.discover(str(tmp_path)):
        written = item.source.encode("utf-8").decode("utf-8")
        assert [found.source for found in READER.discover(written)] == [item.source]


def test_a_root_whose_name_is_not_text(tmp_path: Path) -> None:
    fill(tmp_path)
    root = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"folder \xe9"))
    assert [sources.read_bytes(item.source) for item in READER.discover(root)] == [b"folder \xe9/inside.png"]


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    put(tmp_path / "seen.png", "a")
    put(tmp_path / ".DS_Store", "b")
    put(tmp_path / ".cache" / "c.png", "c")
    assert [item.source for item in READER.discover(str(tmp_path))] == [str(tmp_path / "seen.png")]


def test_the_order_is_stable(tmp_path: Path) -> None:
    for name in ("b.png", "a/z.png", "a.png"):
        put(tmp_path / name, name)
    assert [item.source.removeprefix(f"{tmp_path}/") for item in READER.discover(str(tmp_path))] == [
        "a.png",
        "a/z.png",
        "b.png",
    ]


def test_a_link_that_leads_nowhere_is_found_and_fails_by_name(tmp_path: Path) -> None:
    (tmp_path / "lost.png").symlink_to(tmp_path / "gone.png")
    (item,) = READER.discover(str(tmp_path))
    with pytest.raises(DocumentError, match=r"lost\.png does not exist") as caught:
        READER.read(item)
    assert caught.value.reason is Reason.NOT_FOUND


def test_a_pipe_is_no_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    put(tmp_path / "a.png", "a")
    assert len(list(READER.discover(str(tmp_path)))) == 1


def test_a_document_without_truth(tmp_path: Path) -> None:
    put(tmp_path / "a.png", "not even a picture")
    (item,) = READER.discover(str(tmp_path))
    truth = READER.read(item)
    assert truth.document.doc_id == hashlib.sha256(b"not even a picture").hexdigest()
    assert (truth.document.fields, truth.pages, truth.document.num_pages) == ((), (), 0)


@pytest.mark.parametrize("made", [True, False])
def test_an_empty_or_missing_folder_is_refused(tmp_path: Path, made: bool) -> None:
    root = tmp_path if made else tmp_path / "nowhere"
    with pytest.raises(
        InputError, match=("it has no such file" if made else "it does not exist") + ".*folder that has them"
    ):
        list(READER.discover(str(root)))
