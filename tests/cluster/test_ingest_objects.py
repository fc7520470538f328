"""Ingest from an object store into it: the real S3 server of the shared Ray."""

from pathlib import Path

import boto3
import pytest

from layoutray.cli.main import main as layoutray
from layoutray.cluster.ingest import ingest
from layoutray.cluster.replay import replay
from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import codec, shards
from layoutray.store.schema import PAGES
from tests.ocr.files import encoded, picture

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


@pytest.mark.ocr
def test_pages_go_from_bucket_to_bucket_once() -> None:
    bucket = boto3.resource("s3").Bucket("scans")
    for number in range(3):
        bucket.put_object(Key=f"pages-in/ä {number}.png", Body=encoded(picture(f"Invoice 7{number}"), "PNG"))
    recipe = IngestRecipe(reader="folder", dev_share=0, recognition=Recognition(profile="fast"))
    first = ingest("s3://scans/pages-in", "s3://scans/ingested", recipe)
    again = ingest("s3://scans/pages-in", "s3://scans/ingested", recipe)
    assert (first.pages_out, first.run.pages, again.pages_out, again.run.pages) == (3, 3, 3, 0)
    pages = sorted(codec.pages_of(shards.read("s3://scans/ingested/pages", PAGES)), key=lambda page: page.source)
    assert [page.words[-1].text for page in pages] == ["70", "71", "72"]
    assert all(page.source.startswith("s3://scans/pages") for page in pages)


@pytest.mark.ocr
def test_a_page_in_a_bucket_is_replayed_once_its_file_is_whole() -> None:
    bucket = boto3.resource("s3").Bucket("scans")
    whole = encoded(picture("Invoice 8"), "PNG")
    for name, data in {"cut": whole[:300], "empty": b""}.items():
        bucket.put_object(Key=f"broken/{name}.png", Body=data)
    output = Output("s3://scans/mended")
    ingest(
        "s3://scans/broken",
        output.folder,
        IngestRecipe(reader="folder", dev_share=0, recognition=Recognition(profile="fast")),
    )
    page, document = sorted(output.read_dead_letters(), key=lambda letter: letter.source)
    bucket.put_object(Key="broken/cut.png", Body=whole)
    manifest = replay(output.folder, [page])
    assert (manifest.pages_in, manifest.pages_out, manifest.documents_dead) == (1, 1, 1)
    assert output.read_dead_letters() == [document]


def test_a_bucket_to_write_to_that_is_not_there_is_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.png").write_bytes(encoded(picture("Invoice 9"), "PNG"))
    assert layoutray(["ingest", "ingest-folder", str(tmp_path), "s3://no-such/out"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "error: " in said
    assert "no-such" in said.rpartition("error: ")[2]
