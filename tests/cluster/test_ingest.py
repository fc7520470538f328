"""Ingest on a real local Ray with real OCR: what goes in is accounted for, once, whatever happens in between."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import psutil
import pytest
import ray.data
from PIL import Image

from layoutray.cli.main import main as layoutray
from layoutray.cluster.ingest import ingest
from layoutray.cluster.progress import Progress
from layoutray.errors import InputError, MissingDependencyError
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract.settings import TesseractSettings
from layoutray.prepare.manifest import Manifest
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import codec, shards
from layoutray.store.schema import DEAD_LETTERS, PAGES
from tests.cluster.two_nodes import marked
from tests.ocr.files import encoded, pdf, picture, typed
from tests.ocr.test_render import png_header
from tests.readers.native import put, put_picture

pytestmark = [pytest.mark.ray, pytest.mark.ocr]
FAST = Recognition(profile="fast")
RECIPE = IngestRecipe(reader="folder", pages_per_shard=3, recognition=FAST)


def fill(folder: Path, count: int, first: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(first, first + count):
        (folder / f"{number:03d}.png").write_bytes(
            encoded(picture(f"Invoice {number}", size=(400, 150), at=(20, 20)), "PNG")
        )


def page_ids(out: Path) -> list[str]:
    return shards.read(str(out / "pages"), PAGES, ["page_id"])["page_id"].to_pylist()


def checked(manifest: Manifest, out: Path) -> Manifest:
    """The manifest, once it agrees with itself and with what lies in the folder."""
    ids = page_ids(out)
    assert len(ids) == len(set(ids)) == manifest.pages_out
    assert manifest.pages_in == manifest.pages_out + manifest.pages_dead
    assert (
        manifest.documents_in
        == manifest.documents_out + manifest.documents_dead + len(manifest.duplicates) + manifest.without_picture
    )
    return manifest


def quarter_turn() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6  # stored a quarter turn anticlockwise, to be shown turned back
    return exif


def zipped(data: bytes) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scan.png", data)
    return stream.getvalue()


LOCKED = (
    f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -44 /O <{'ab' * 32}> /U <{'cd' * 32}> >> "
    f"/ID [<{'00' * 16}> <{'00' * 16}>]"
)
BAD = {
    "locked.pdf": (pdf(typed("Secret", x=72, y=700), trailer_entries=LOCKED), "encrypted"),
    "empty.png": (b"", "empty_file"),
    "cut.png": (encoded(picture("x"), "PNG")[:300], "unreadable"),
    "cut.pdf": (pdf(typed("x", x=9, y=9))[:120], "unreadable"),
    "letter.pdf": (b"Dear Sir or Madam", "unsupported_type"),
    "bomb.png": (png_header(30_000, 30_000), "too_large"),
    "moving.gif": (encoded(picture("x"), "GIF"), "unsupported_type"),
    "endless.pdf": (pdf(*["" for _ in range(2001)]), "too_large"),
    "packed.png": (zipped(b"0" * 2**24), "unsupported_type"),
}
GOOD = {
    "plain.png": encoded(picture("Plain"), "PNG"),
    "really a jpeg.pdf": encoded(picture("Renamed"), "JPEG"),
    "cmyk.jpg": encoded(picture("Colours").convert("CMYK"), "JPEG"),
    "sixteen.tif": encoded(picture("Sixteen").convert("I;16"), "TIFF"),
    "turned.jpg": encoded(picture("Upright", size=(600, 600)).rotate(90), "JPEG", exif=quarter_turn()),
    "blank.png": encoded(picture(""), "PNG"),
    "two pages.tif": encoded(picture("One"), "TIFF", save_all=True, append_images=[picture("Two")]),
    "überweisung €.pdf": pdf(typed("Dear customer", x=72, y=700)),
}


@pytest.mark.usefixtures("cluster")
def test_bad_files_are_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    files = {name: data for name, (data, _) in BAD.items()} | GOOD | {"copy of plain.png": GOOD["plain.png"]}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / os.fsdecode(b"latin-\xe9.png")).write_bytes(encoded(picture("Latin"), "PNG"))
    manifest = checked(ingest(str(folder), str(out), RECIPE, workers=2), out)
    assert (manifest.documents_in, manifest.documents_dead + manifest.pages_dead, manifest.pages_out) == (
        19,
        len(BAD),
        10,
    )
    assert manifest.reasons == Counter(reason for _, reason in BAD.values())
    assert [{Path(uri).name for uri in pair.values()} for pair in manifest.duplicates] == [
        {"plain.png", "copy of plain.png"}
    ]
    letters = {
        Path(letter.source).name: letter
        for letter in codec.dead_letters_of(shards.read(str(out / "dead_letters"), DEAD_LETTERS))
    }
    assert {name: letter.reason for name, letter in letters.items()} == {
        name: reason for name, (_, reason) in BAD.items()
    }
    pages = list(codec.pages_of(shards.read(str(out / "pages"), PAGES)))
    texts = sorted(" ".join(word.text for word in page.words) for page in pages)
    assert texts == sorted(
        ["", "Plain", "Renamed", "Colours", "Sixteen", "Upright", "One", "Two", "Dear customer", "Latin"]
    )
    assert Counter(page.provenance.words for page in pages) == {"ocr": 9, "text_layer": 1}


@pytest.mark.usefixtures("cluster")
def test_a_rerun_does_what_is_missing_and_other_settings_do_all_again(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    fill(folder, 5)
    first = checked(ingest(str(folder), str(out), RECIPE), out)
    assert (first.run.pages, first.pages_out) == (5, 5)
    before = page_ids(out)
    seen: list[Progress] = []
    again = checked(ingest(str(folder), str(out), RECIPE, progress=seen.append), out)
    assert (again.run.pages, again.pages_out) == (0, 5)
    assert {progress.stage for progress in seen} == {"open"}
    assert page_ids(out) == before
    fill(folder, 2, first=5)
    more = checked(ingest(str(folder), str(out), RECIPE, progress=seen.append), out)
    assert (more.run.pages, more.pages_out) == (2, 7)
    assert (seen[-1].done, seen[-1].total, seen[-1].skipped) == (2, 2, 5)
    other = dataclasses.replace(RECIPE, recognition=Recognition(profile="fast", dpi=90))
    changed = checked(ingest(str(folder), str(out), other), out)
    assert (changed.run.pages, changed.pages_out, changed.rows) == (7, 7, 7)
    assert not set(page_ids(out)) & set(before)
    rows = ray.data.read_parquet(str(out / "pages"), num_cpus=0.1).take_all()  # without our code
    assert sorted(row["page_id"] for row in rows) == sorted(page_ids(out))
    assert all(len(row["words"]) == len(row["boxes"]) == 2 for row in rows)


@pytest.mark.usefixtures("cluster")
def test_a_corrected_annotation_is_read_again(tmp_path: Path) -> None:
    forms, out = tmp_path / "in", tmp_path / "out"
    for name in ("1", "2"):
        put_picture(forms / f"training_data/images/{name}.png", height=100 + int(name))
        annotate(forms / f"training_data/annotations/{name}.json", "question", "Name:")
    recipe = IngestRecipe(reader="funsd", words="annotation")
    checked(ingest(str(forms), str(out), recipe), out)
    annotate(forms / "training_data/annotations/2.json", "answer", "Byron")
    again = checked(ingest(str(forms), str(out), recipe), out)
    assert (again.run.pages, again.pages_out, again.rows) == (1, 2, 2)
    words = [word for page in codec.pages_of(shards.read(str(out / "pages"), PAGES)) for word in page.words]
    assert sorted((word.text, word.tag) for word in words) == [("Byron", "B-answer"), ("Name:", "B-question")]


@pytest.mark.usefixtures("cluster")
def test_what_the_set_ships_no_picture_of_is_counted_and_no_failure(tmp_path: Path) -> None:
    forms, out = tmp_path / "in", tmp_path / "out"
    for name in ("1", "2", "3"):
        annotate(forms / f"training_data/annotations/{name}.json", "question", "Name:")
    with pytest.raises(
        InputError, match=r"none of the 3 documents .* comes with a picture; ingest the set with words = 'annotation'"
    ):
        ingest(str(forms), str(out), IngestRecipe(reader="funsd"))
    put_picture(forms / "training_data/images/2.png")
    manifest = checked(ingest(str(forms), str(out), IngestRecipe(reader="funsd")), out)
    assert (manifest.documents_in, manifest.documents_out, manifest.without_picture, manifest.reasons) == (3, 1, 2, {})
    annotated = checked(
        ingest(str(forms), str(tmp_path / "annotated"), IngestRecipe(reader="funsd", words="annotation")),
        tmp_path / "annotated",
    )
    assert (annotated.documents_out + len(annotated.duplicates), annotated.without_picture) == (3, 0)


def annotate(file: Path, label: str, text: str) -> None:
    place = [10, 20, 110, 40]
    word = {"text": text, "box": place}
    put(file, {"form": [{"label": label, "words": [word], "text": text, "box": place, "linking": [], "id": 0}]})


@pytest.mark.usefixtures("cluster")
def test_a_set_without_a_usable_page_has_its_account_too(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name, (data, _) in BAD.items():
        (folder / name).write_bytes(data)
    manifest = ingest(str(folder), str(out), RECIPE)
    assert (manifest.documents_in, manifest.pages_out, manifest.rows) == (len(BAD), 0, 0)
    assert manifest.reasons == Counter(reason for _, reason in BAD.values())
    assert ingest(str(folder), str(out), RECIPE).run.pages == 0


@pytest.mark.usefixtures("cluster_to_harm")
def test_a_worker_that_dies_costs_nothing(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    fill(folder, 30)
    killed: list[int] = []
    seen: list[Progress] = []

    def kill_one(progress: Progress) -> None:
        seen.append(progress)
        if progress.stage == "recognise" and progress.done and not killed:
            workers = marked(psutil.Process().children(recursive=True), "PageWorker")
            workers[0].kill()
            killed.append(workers[0].pid)

    manifest = checked(ingest(str(folder), str(out), RECIPE, progress=kill_one), out)
    assert killed
    assert (manifest.pages_out, manifest.pages_dead) == (30, 0)
    assert seen[-1].done == 30


@pytest.mark.usefixtures("cluster")
def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    fill(tmp_path / "in", 1)
    recipe = dataclasses.replace(
        RECIPE, recognition=Recognition(engine="tesserocr", settings=TesseractSettings(language="xyz"))
    )
    with pytest.raises(MissingDependencyError, match="xyz"):
        ingest(str(tmp_path / "in"), str(tmp_path / "out"), recipe)
    with pytest.raises(InputError, match="does not exist"):
        ingest(str(tmp_path / "none"), str(tmp_path / "out"), RECIPE)


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_many_documents_are_opened_by_the_workers_and_read_in_waves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    fill(folder, 4)
    (folder / "empty.png").write_bytes(b"")
    here = ingest(str(folder), str(tmp_path / "here"), RECIPE)
    monkeypatch.setattr("layoutray.cluster.ingest._OPENED_IN_PROCESS", 2)
    monkeypatch.setattr("layoutray.cluster.worker_pool._SMALLEST_WAVE", 3)
    monkeypatch.setattr("layoutray.cluster.worker_pool._RECORDS_PER_WORKER", 1)
    seen: list[Progress] = []
    manifest = ingest(str(folder), str(tmp_path / "there"), RECIPE, workers=2, progress=seen.append)
    there = checked(manifest, tmp_path / "there")
    assert seen[-1] == Progress(stage="recognise", done=4, total=4)
    assert sorted(page_ids(tmp_path / "here")) == sorted(page_ids(tmp_path / "there"))
    assert (here.reasons, here.splits) == (there.reasons, there.splits)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_a_full_disk_is_said_in_one_line_and_costs_what_was_not_finished_alone(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "in", 12)
    call = ["ingest", "ingest-folder", str(tmp_path / "in"), str(small_disk / "out"), "--set", "pages_per_shard=1"]
    call += ["--set", "recognition.profile=fast"]
    assert layoutray(call) == 1
    assert re.search(r"^error: .*No space left on device", capsys.readouterr().err, re.MULTILINE)
    there = len(shards.shards(str(small_disk / "out/pages")))
    assert 0 < there < 12
    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)
    assert layoutray(call) == 0
    assert checked(Manifest.read(str(small_disk / "out")), small_disk / "out").pages_out == 12
    # A worker may have ended a page after the driver had given up.
    assert 0 < Manifest.read(str(small_disk / "out")).run.pages <= 12 - there


_INGEST = """
import sys
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.recipe.ingest import IngestRecipe
with connect(cores=1):
    ingest(sys.argv[1], sys.argv[2], IngestRecipe(reader="folder", pages_per_shard=3))
"""


@pytest.mark.usefixtures("cluster_to_harm")
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """With the default profile, whose networks are loaded by each worker. The killed run has a Ray of its own."""
    folder, out = tmp_path / "in", tmp_path / "out"
    fill(folder, 12)
    command = [sys.executable, "-c", _INGEST, str(folder), str(out)]
    driver = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not shards.shards(str(out / "pages")):
            assert driver.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline, "no shard after two minutes"
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    finally:
        driver.kill()
    (out / "pages" / ".part-0.parquet.0.part").write_bytes(b"PAR1 half")
    kept = page_ids(out)
    assert 0 < len(kept) < 12
    done = ingest(str(folder), str(out), IngestRecipe(reader="folder", pages_per_shard=3)).run.pages
    ids = page_ids(out)
    assert len(ids) == len(set(ids)) == 12
    assert set(kept) <= set(ids)
    assert 0 < done <= 12 - len(kept)
    assert not list((out / "pages").glob(".*"))
