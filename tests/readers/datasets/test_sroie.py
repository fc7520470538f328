import hashlib
from pathlib import Path

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import load
from tests.readers.native import items, only, put, put_picture, texts

READER = load("sroie")
LINE = "10,20,110,20,110,40,10,40,"


def receipt(root: Path, rows: str | bytes, fields: str | None = None, *, picture: bool = True) -> Path:
    put(root / "train/box/X1.txt", rows)
    if fields is not None:
        put(root / "train/entities/X1.txt", fields)
    if picture:
        put_picture(root / "train/img/X1.jpg")
    return root


def test_a_line_becomes_words_that_share_its_box(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, LINE + "AB CDEF GH\n"))
    assert texts(truth) == ["AB", "CDEF", "GH"]
    page = truth.pages[0]
    first, second, third = (word.box.to_pixels(page.width, page.height) for word in page.words)
    assert first == pytest.approx((10, 20, 30, 40))
    assert second == pytest.approx((40, 20, 80, 40))
    assert third == pytest.approx((90, 20, 110, 40))
    assert {word.line for word in page.words} == {0}
    assert {word.tag for word in page.words} == {None}


def test_the_transcript_keeps_commas_and_quotes(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, LINE + '53,55 & 57, "A", JALAN\n'))
    assert texts(truth) == ["53,55", "&", "57,", '"A",', "JALAN"]


def test_blank_lines_and_crlf_are_no_text(tmp_path: Path) -> None:
    truth = only(
        READER, receipt(tmp_path, f"{LINE}ONE\r\n\r\n{LINE.replace('20', '50').replace('40', '60')}TWO\r\n\r\n")
    )
    assert texts(truth) == ["ONE", "TWO"]
    assert [word.line for word in truth.pages[0].words] == [0, 1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk"])
def test_texts_in_utf8_and_gbk(tmp_path: Path, encoding: str) -> None:
    assert texts(only(READER, receipt(tmp_path, f"{LINE}KEPONG BARU，M\n".encode(encoding)))) == ["KEPONG", "BARU，M"]


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"X1\.txt: the bytes are not text in UTF-8 or gb18030") as caught:
        only(READER, receipt(tmp_path, LINE.encode() + b"\xff\xff\xff\n"))
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_quads_without_an_area_and_repeats_are_dropped_and_counted(tmp_path: Path) -> None:
    flat = "144,90,145,90,145,90,144,90,TOTAL RM\n"
    truth = only(READER, receipt(tmp_path, f"{LINE}ONE\n{flat}{LINE}ONE\n{LINE}OTHER\n{LINE} \n"))
    assert texts(truth) == ["ONE", "OTHER"]
    assert (truth.dropped, truth.repairs) == (3, 0)


def test_a_slanted_quad_is_bounded(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, "12,20,110,24,108,44,10,40,WORD\n"))
    assert truth.pages[0].words[0].box.to_pixels(200, 100) == pytest.approx((10, 20, 110, 44))
    assert truth.repairs == 0


def test_inverted_and_overhanging_quads_are_repaired_and_counted(tmp_path: Path) -> None:
    rows = "110,20,10,20,10,40,110,40,INVERTED\n150,20,260,20,260,40,150,40,OVER\n" + LINE + "FINE\n"
    truth = only(READER, receipt(tmp_path, rows))
    first, second, third = (word.box.to_pixels(200, 100) for word in truth.pages[0].words)
    assert first == third == pytest.approx((10, 20, 110, 40))
    assert second == pytest.approx((150, 20, 200, 40))
    assert truth.repairs == 2


def test_a_quad_outside_the_picture_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"X1\.txt, line 2 \('GONE'\).*outside") as caught:
        only(READER, receipt(tmp_path, f"{LINE}FINE\n300,20,310,20,310,40,300,40,GONE\n"))
    assert caught.value.reason is Reason.BAD_BOX


@pytest.mark.parametrize("row", ["1,2,3", "a,20,110,20,110,40,10,40,TEXT", "nan,20,110,20,110,40,10,40,TEXT"])
def test_a_malformed_row_is_named(tmp_path: Path, row: str) -> None:
    with pytest.raises(DocumentError, match=r"X1\.txt, line 2") as caught:
        only(READER, receipt(tmp_path, f"{LINE}FINE\n{row}\n"))
    assert (caught.value.reason, caught.value.stage) == (Reason.BAD_ANNOTATION, "annotation")


def test_fields_come_in_the_files_order_without_the_empty_ones(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, LINE + "A\n", '{"date": "1/2/18", "company": "A SDN BHD", "total": ""}'))
    assert truth.document.fields == (Field("date", "1/2/18"), Field("company", "A SDN BHD"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("{", "not JSON, line 1"),
        ("[]", "expected an object"),
        ('{"total": 9}', "`total` is 9"),
        ('{"total": "\\ud800"}', "surrogate"),
        ("[" * 100_000, "nested"),
    ],
)
def test_malformed_fields_are_named(tmp_path: Path, fields: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        only(READER, receipt(tmp_path, LINE + "A\n", fields))
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_with_a_picture_it_is_the_source(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, LINE + "A\n"))
    picture = (tmp_path / "train/img/X1.jpg").read_bytes()
    assert truth.document.doc_id == hashlib.sha256(picture).hexdigest()
    assert (truth.pages[0].width, truth.pages[0].height) == (200, 100)
    assert truth.pages[0].image == truth.pages[0].source != ""


def test_without_a_picture_the_box_file_is_the_source_and_the_boxes_tell_the_size(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, LINE + "A\n", picture=False))
    assert truth.document.doc_id == hashlib.sha256((tmp_path / "train/box/X1.txt").read_bytes()).hexdigest()
    assert (truth.pages[0].width, truth.pages[0].height, truth.pages[0].image) == (110, 40, "")


def test_a_picture_turned_by_exif_is_measured_as_it_is_looked_at(tmp_path: Path) -> None:
    receipt(tmp_path, LINE + "A\n", picture=False)
    put_picture(tmp_path / "train/img/X1.jpg", orientation=6)
    page = only(READER, tmp_path).pages[0]
    assert (page.width, page.height) == (100, 200)


@pytest.mark.parametrize(("data", "reason"), [(b"", Reason.EMPTY_FILE), (b"no picture", Reason.UNREADABLE)])
def test_a_damaged_picture_is_named(tmp_path: Path, data: bytes, reason: Reason) -> None:
    receipt(tmp_path, LINE + "A\n", picture=False)
    put(tmp_path / "train/img/X1.jpg", data)
    with pytest.raises(DocumentError, match=r"X1\.jpg") as caught:
        only(READER, tmp_path)
    assert caught.value.reason is reason


def test_parts_of_a_receipt_may_be_missing(tmp_path: Path) -> None:
    put(tmp_path / "test/box/boxes.txt", LINE + "A\n")
    put(tmp_path / "test/entities/fields.txt", '{"total": "1"}')
    put_picture(tmp_path / "test/img/picture.jpg")
    found = items(READER, tmp_path)
    assert set(found) == {("test", "boxes"), ("test", "fields"), ("test", "picture")}
    assert READER.read(found["test", "boxes"]).document.fields == ()
    assert READER.read(found["test", "fields"]).document.fields == (Field("total", "1"),)
    assert READER.read(found["test", "picture"]).pages == ()


def test_the_cleaned_training_set(tmp_path: Path) -> None:
    put(tmp_path / "zzzDavid/data/box/000.csv", LINE + "A\r\n\r\n")
    put(tmp_path / "zzzDavid/data/key/000.json", {"total": "9.00"})
    put_picture(tmp_path / "zzzDavid/data/img/000.jpg")
    found = items(READER, tmp_path)
    assert found["train", "000"].image.endswith("img/000.jpg")
    assert READER.read(found["train", "000"]).document.fields == (Field("total", "9.00"),)


def test_both_downloads_below_one_root_do_not_repeat_the_receipts(tmp_path: Path) -> None:
    receipt(tmp_path / "SROIE2019", LINE + "A\n")
    put(tmp_path / "zzzDavid/data/box/000.csv", LINE + "A\n")
    assert set(items(READER, tmp_path)) == {("train", "X1")}
    assert set(items(READER, tmp_path / "zzzDavid")) == {("train", "000")}


@pytest.mark.parametrize("made", [True, False])
def test_nothing_found_says_what_was_looked_for(tmp_path: Path, made: bool) -> None:
    root = tmp_path if made else tmp_path / "nowhere"
    with pytest.raises(InputError, match="box,entities,img"):
        list(READER.discover(str(root)))


def counts(root: Path) -> dict[str, tuple[int, int, int]]:
    """Receipts, pictures and lines of text by split."""
    table: dict[str, tuple[int, int, int]] = {}
    for item in READER.discover(str(root)):
        truth = READER.read(item)
        receipts, pictures, lines = table.get(item.split, (0, 0, 0))
        table[item.split] = (
            receipts + 1,
            pictures + bool(item.image),
            lines + len({word.line for word in truth.pages[0].words}) + truth.dropped,
        )
    return table


def test_real_receipts(data_root: Path) -> None:
    root = data_root / "sroie" / "SROIE2019"
    found = counts(root)
    if {split: row[:2] for split, row in found.items()} != {"train": (602, 85), "test": (312, 52)}:
        pytest.skip(f"{root} does not hold the receipts that the totals are known of")
    assert found == {"train": (602, 85, 32_162), "test": (312, 52, 16_696)}


def test_real_receipts_of_the_cleaned_training_set(data_root: Path) -> None:
    root = data_root / "sroie" / "zzzDavid"
    found = counts(root)
    if found["train"][:2] != (602, 0):
        pytest.skip(f"{root} does not hold the receipts that the totals are known of")
    assert found == {"train": (602, 0, 32_162)}


def test_real_receipts_lack_an_address_and_a_total(data_root: Path) -> None:
    found = items(READER, data_root / "sroie" / "SROIE2019")
    wanted = {"X51005663280": "address", "X51005433522": "total"}
    if any(("train", key) not in found for key in wanted):
        pytest.skip("the receipts with missing fields are not there")
    for key, missing in wanted.items():
        names = {field.name for field in READER.read(found["train", key]).document.fields}
        assert names == {"company", "date", "address", "total"} - {missing}
