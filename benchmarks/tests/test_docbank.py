from collections import Counter
from pathlib import Path

import pytest

from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import load
from tests.readers.native import items, only, put, put_picture, tags, texts

READER = load("docbank")


def row(
    token: str, x0: object = 100, y0: object = 200, x1: object = 150, y1: object = 220, label: str = "paragraph"
) -> str:
    return "\t".join(map(str, (token, x0, y0, x1, y1, 0, 0, 0, "Times", label)))


def page(root: Path, *rows: str, end: str = "\r\n", name: str = "9.tar_1801.00617.gz_my_paper.v2_6") -> Path:
    put(root / f"{name}.txt", "".join(line + end for line in rows))
    return root


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_tokens_carry_the_label_of_their_region(tmp_path: Path, end: str) -> None:
    truth = only(READER, page(tmp_path, row("Title", label="title"), row("text", x0=160, x1=200), end=end))
    assert (texts(truth), tags(truth)) == (["Title", "text"], ["title", "paragraph"])
    assert truth.pages[0].words[0].box.to_pixels(1000, 1000) == pytest.approx((100, 200, 150, 220))


def test_the_page_number_is_the_last_part_of_the_name_counted_from_one(tmp_path: Path) -> None:
    truth = only(READER, page(tmp_path, row("a")))
    assert (truth.pages[0].number, truth.pages[0].split, truth.document.num_pages) == (7, "", 1)


def test_drawings_empty_tokens_and_repeats_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = (
        row("##LTLine##", y1=200),
        row("##LTFigure##"),
        row(""),
        row("  "),
        row("a"),
        row("a"),
        row("a", x1=151),
        row("b"),
    )
    truth = only(READER, page(tmp_path, *rows))
    assert (texts(truth), truth.dropped) == (["a", "a", "b"], 5)


def test_tokens_of_no_height_stay(tmp_path: Path) -> None:
    assert texts(only(READER, page(tmp_path, row("-", y1=200), row("|", x1=100)))) == ["-", "|"]


def test_odd_separators_and_tabs_within_tokens_break_no_row(tmp_path: Path) -> None:
    assert texts(only(READER, page(tmp_path, row("a\x85b\x0cc"), row("d\te")))) == ["a", "b", "c", "d", "e"]


def test_line_ids_follow_the_rows_of_the_page(tmp_path: Path) -> None:
    rows = row("a"), row("b", x0=160, x1=170), row("c", y0=230, y1=250), row("d", x0=160, x1=170, y0=232, y1=250)
    assert [word.line for word in only(READER, page(tmp_path, *rows)).pages[0].words] == [0, 0, 1, 1]


def test_inverted_and_overhanging_boxes_are_repaired_and_counted(tmp_path: Path) -> None:
    truth = only(READER, page(tmp_path, row("a", x0=150, x1=100), row("b", x0=-3, x1=1200), row("c")))
    assert [word.box.to_pixels(1000, 1000) for word in truth.pages[0].words[:2]] == [
        (100, 200, 150, 220),
        (0, 200, 1000, 220),
    ]
    assert truth.repairs == 2


def test_a_box_outside_the_page_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"_6\.txt, line 2 \('gone'\)") as caught:
        only(READER, page(tmp_path, row("a"), row("gone", x0=1100, x1=1200)))
    assert caught.value.reason is Reason.BAD_BOX


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("a\t1\t2", "line 2: .* has 3 tab-separated fields, expected 10"),
        (row("a", label="paragraf"), "line 2: label 'paragraf' of 'a' is unknown; allowed: abstract, author"),
        (row("a", x0="left"), "line 2: box .* must be four numbers"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, bad: str, message: str) -> None:
    with pytest.raises(DocumentError, match=r"_6\.txt, " + message) as caught:
        only(READER, page(tmp_path, row("a"), bad))
    assert (caught.value.reason, caught.value.stage) == (Reason.BAD_ANNOTATION, "annotation")


def test_the_picture_beside_the_text_tells_the_pixels(tmp_path: Path) -> None:
    page(tmp_path, row("a"), name="p_0")
    put_picture(tmp_path / "p_0_ori.jpg", 300, 400)
    put_picture(tmp_path / "p_0_ann.jpg", 30, 40)
    put(tmp_path / "p_black.pdf", b"%PDF")
    seen = only(READER, tmp_path).pages[0]
    assert (seen.width, seen.height, seen.number) == (300, 400, 1)
    assert seen.image.endswith("p_0_ori.jpg")
    assert seen.source.endswith("p_0.txt")


def test_the_full_download_with_its_index_files(tmp_path: Path) -> None:
    texts_folder, pictures = tmp_path / "DocBank_500K_txt", tmp_path / "DocBank_500K_ori_img"
    for key in ("a_0", "a_1", "b_0", "c_test_0"):
        page(texts_folder, row("a"), name=key)
        put_picture(pictures / f"{key}_ori.jpg")
    put(tmp_path / "500K_train.txt", "a_0.txt\r\na_1.txt\r\nnot_here_0.txt\r\n")
    put(tmp_path / "500K_dev.txt", "b_0.txt\n")
    put(tmp_path / "500K_test.txt", "txt/c_test_0\n")
    put(tmp_path / "LICENSE.txt", "all wrongs reserved")
    found = items(READER, tmp_path)
    assert set(found) == {("train", "a_0"), ("train", "a_1"), ("dev", "b_0"), ("test", "c_test_0")}
    assert all(item.image.endswith(f"DocBank_500K_ori_img/{key}_ori.jpg") for (_, key), item in found.items())


def test_a_page_in_two_splits_is_refused(tmp_path: Path) -> None:
    page(tmp_path, row("a"), name="a_0")
    put(tmp_path / "train.txt", "a_0.txt\n")
    put(tmp_path / "test.txt", "a_0.txt\n")
    with pytest.raises(InputError, match=r"'a_0'.*a page must have one split"):
        list(READER.discover(str(tmp_path)))


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path / "readme.txt", "no page")
    with pytest.raises(InputError, match=r"<paper>_<page>\.txt"):
        list(READER.discover(str(tmp_path)))


def test_real_pages(data_root: Path) -> None:
    """Every row of the file is a word or was dropped; where all of the known pages are there, as many as are known."""
    found = items(READER, data_root / "docbank")
    totals: Counter[str] = Counter()
    for item in found.values():
        truth = READER.read(item)
        rows = [line for line in Path(item.source).read_bytes().split(b"\n") if line.strip(b"\r")]
        drawings = sum(line.startswith((b"##LTLine##\t", b"##LTFigure##\t")) for line in rows)
        assert len(truth.pages[0].words) + truth.dropped == len(rows)
        assert truth.dropped >= drawings
        totals.update(pages=1, pictures=bool(item.image), tokens=len(rows), drawings=drawings, dropped=truth.dropped)
    if totals["pages"] != 85:
        pytest.skip("not the 85 pages that the totals are known of")
    # All of the known 1,648 exact repeats are drawings, so nothing else is dropped.
    assert totals == {"pages": 85, "pictures": 43, "tokens": 52_525, "drawings": 5_712, "dropped": 5_712}
