import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image

from layoutray.document.tags import spans
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.metrics.word_recall import word_recall
from layoutray.readers import load
from layoutray.synthetic.render import bill, render_page, render_set
from layoutray.synthetic.sheet import FIELDS
from tests.readers.native import items, put, tags

READER = load("synthetic")
TESSDATA = Path("/usr/share/tesseract-ocr/5/tessdata")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthetic")
    render_set(folder, 20, seed=3)
    return folder


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_same_seed_gives_the_same_bytes(root: Path, tmp_path: Path) -> None:
    render_set(tmp_path / "again", 4, seed=3)
    again, whole = files(tmp_path / "again"), files(root)
    assert all(whole[name] == again[name] for name in again if name != "index.json")
    render_set(tmp_path / "other", 4, seed=4)
    assert (tmp_path / "other/images/00000.png").read_bytes() != (root / "images/00000.png").read_bytes()


def test_splits_are_stated_and_none_is_empty(root: Path, tmp_path: Path) -> None:
    found = [split for split, _ in items(READER, root)]
    assert {split: found.count(split) for split in set(found)} == {"train": 14, "dev": 2, "test": 4}
    render_set(tmp_path, 3, seed=1)
    assert {split for split, _ in items(READER, tmp_path)} == {"train", "dev", "test"}


def test_pages_are_grey(root: Path) -> None:
    for item in items(READER, root).values():
        with Image.open(item.image) as picture:
            assert picture.mode == "L"
            assert picture.width >= 400


def test_fields_are_what_the_page_prints_and_tags(root: Path) -> None:
    found: set[str] = set()
    for item in items(READER, root).values():
        truth = READER.read(item)
        words = [word.text for word in truth.pages[0].words]
        printed: dict[str, set[str]] = {}
        for kind, start, end in spans(tags(truth)):
            printed.setdefault(kind, set()).add(" ".join(words[start:end]))
        fields = {field.name: field.value for field in truth.document.fields}
        assert fields.keys() == printed.keys() <= set(FIELDS)
        assert all(value in " ".join(printed[kind]) for kind, value in fields.items()), (fields, printed)
        found |= fields.keys()
    assert {"company", "address", "date", "total", "name", "customer_address", "iban", "tax_number"} <= found


@pytest.mark.parametrize("seed", range(5))
def test_boxes_hold_the_ink_of_their_words(seed: int) -> None:
    image, annotation = render_page(Random(seed))
    pixels = np.asarray(image).astype(int)
    for word in annotation["words"]:
        x0, y0, x1, y1 = (round(side) for side in word["box"])
        assert 0 <= x0 < x1 <= image.width
        assert 0 <= y0 < y1 <= image.height
        box = pixels[y0:y1, x0:x1]
        assert word["text"] in "-.:_|" or box.max() - box.min() > 40, word


@pytest.mark.ocr
@pytest.mark.skipif(not TESSDATA.is_dir(), reason=f"no language data in {TESSDATA}; install tesseract-ocr")
@pytest.mark.parametrize("psm", [3, 6])
def test_ocr_reads_the_pages(root: Path, psm: int) -> None:
    pages: list[tuple[Image.Image, list[str]]] = []
    for item in list(items(READER, root).values())[:6]:
        with Image.open(item.image) as picture:
            pages.append((picture.copy(), [word.text for word in READER.read(item).pages[0].words]))
    assert mean_recall(pages, psm) > 0.85


@pytest.mark.ocr
@pytest.mark.skipif(not TESSDATA.is_dir(), reason=f"no language data in {TESSDATA}; install tesseract-ocr")
@pytest.mark.parametrize("psm", [3, 6])
def test_ocr_reads_pages_without_damage_in_its_own_letters_better(psm: int) -> None:
    pages: list[tuple[Image.Image, list[str]]] = []
    for number in count():
        canvas, height = bill(Random(f"3/{number}"))
        texts = [mark.text for mark in canvas.marks]
        if all(map(str.isascii, texts)):
            pages.append((canvas.image.crop((0, 0, canvas.width, min(height, canvas.image.height))), texts))
        if len(pages) == 6:
            break
    assert mean_recall(pages, psm) > 0.95


def mean_recall(pages: Sequence[tuple[Image.Image, Sequence[str]]], psm: int) -> float:
    """Of pictures with their words, by the English model of Tesseract."""
    tesserocr = pytest.importorskip("tesserocr")
    recalls: list[float] = []
    with tesserocr.PyTessBaseAPI(path=f"{TESSDATA}/", lang="eng", psm=psm) as engine:
        for picture, texts in pages:
            engine.SetImage(picture)
            recalls.append(word_recall(engine.GetUTF8Text().split(), texts)[0])
    return sum(recalls) / len(recalls)


def test_too_few_pages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="count is 2, must be at least 3"):
        render_set(tmp_path, 2, seed=1)


def damaged(tmp_path: Path, **changes: object) -> Path:
    render_set(tmp_path, 3, seed=1)
    path = tmp_path / "annotations" / "00000.json"
    annotation = json.loads(path.read_bytes())
    annotation["words"][0] |= changes
    put(path, annotation)
    return tmp_path


@pytest.mark.parametrize("changes", [{"tag": "X-total"}, {"text": None}, {"box": "here"}, {"line": "first"}])
def test_malformed_words_are_named(tmp_path: Path, changes: dict[str, object]) -> None:
    found = {key: item for (_, key), item in items(READER, damaged(tmp_path, **changes)).items()}
    with pytest.raises(DocumentError, match=r"00000\.json, word 0") as caught:
        READER.read(found["00000"])
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"index\.json"):
        list(READER.discover(str(tmp_path)))
    put(tmp_path / "index.json", {"train": [], "dev": [], "test": []})
    with pytest.raises(InputError, match=r"index\.json that names pages"):
        list(READER.discover(str(tmp_path)))


def test_a_page_outside_the_set_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "index.json", {"train": ["../../secret"], "dev": [], "test": []})
    with pytest.raises(DocumentError, match="secret"):
        list(READER.discover(str(tmp_path)))
