import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from layoutray.errors import DocumentError, Reason
from layoutray.ocr.page import recognise_page
from layoutray.ocr.render import Kind, count_pages, render_page, sniff
from layoutray.ocr.settings import Recognition
from tests.ocr.files import encoded, pdf, pdf_with_packed_objects, picture, placed_picture, typed

SETTINGS = Recognition()


def refusal(data: bytes, number: int = 1, settings: Recognition = SETTINGS) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        render_page(data, number, settings)
    return caught.value


def png_header(width: int, height: int) -> bytes:
    """A PNG file of a few bytes that claims to be large."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
def test_the_bytes_say_what_a_file_is(kind: str) -> None:
    assert sniff(encoded(picture("x"), kind)) is Kind(kind)


def test_a_pdf_header_may_come_after_rubbish() -> None:
    assert sniff(b"\r\n\r\nmail header\r\n" + pdf("")) is Kind.PDF


def test_an_empty_file_is_named_so() -> None:
    assert refusal(b"").reason is Reason.EMPTY_FILE


@pytest.mark.parametrize(("kind", "called"), [("GIF", "GIF"), ("BMP", "BMP"), ("WEBP", "WebP"), ("AVIF", "AVIF")])
def test_other_pictures_are_refused_by_name_and_with_what_is_allowed(kind: str, called: str) -> None:
    error = refusal(encoded(picture("x"), kind))
    assert error.reason is Reason.UNSUPPORTED_TYPE
    assert called in str(error)
    assert "PNG, JPEG, TIFF" in str(error)


@pytest.mark.parametrize("brand", [b"heic", b"heix", b"mif1"])
def test_photographs_of_a_phone_are_refused_by_name(brand: bytes) -> None:
    error = refusal(b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0mif1heic")
    assert error.reason is Reason.UNSUPPORTED_TYPE
    assert "a HEIC picture; allowed: PNG, JPEG, TIFF" in str(error)


def test_an_archive_is_not_read_as_the_pdf_file_that_it_begins_with() -> None:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("1.pdf", pdf(""))
        files.writestr("2.pdf", pdf(""))
    assert "a ZIP archive" in str(refusal(archive.getvalue()))


def test_text_is_refused() -> None:
    assert refusal(b"Dear Sir or Madam").reason is Reason.UNSUPPORTED_TYPE


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
def test_a_picture_cut_short_is_unreadable(kind: str, share: float) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (200, 300), dtype=np.uint8))
    data = encoded(noise, kind)
    assert refusal(data[: max(int(len(data) * share), 12)]).reason is Reason.UNREADABLE


def test_a_pdf_cut_short_is_unreadable() -> None:
    data = pdf(typed("hello", x=50, y=700))
    assert refusal(data[: len(data) // 8]).reason is Reason.UNREADABLE


def test_a_pdf_that_needs_a_password_is_encrypted() -> None:
    # Keys that fit no password, above all not the empty one that every program tries first.
    keys = f"/O <{'ab' * 32}> /U <{'cd' * 32}>"
    handler = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -44 {keys} >> /ID [<{'00' * 16}> <{'00' * 16}>]"
    error = refusal(pdf(typed("secret", x=50, y=700), trailer_entries=handler))
    assert error.reason is Reason.ENCRYPTED
    assert "password" in str(error)


def test_a_picture_bomb_is_refused_by_its_header() -> None:
    # Decoded it would fail as damaged: being called too large shows that nothing was decoded.
    bomb = png_header(60_000, 60_000)
    error = refusal(bomb)
    assert error.reason is Reason.TOO_LARGE
    assert "120,000,000" in str(error)


def test_a_pdf_page_bomb_is_refused_before_it_is_drawn() -> None:
    assert refusal(pdf("", page_entries="/MediaBox [0 0 14400 14400]")).reason is Reason.TOO_LARGE


def test_the_limit_on_pixels_is_the_settings() -> None:
    data = encoded(picture("x", size=(100, 100)), "PNG")
    assert refusal(data, settings=replace(SETTINGS, max_pixels=9_999)).reason is Reason.TOO_LARGE
    assert render_page(data, 1, replace(SETTINGS, max_pixels=10_000)).image.shape == (100, 100)


@pytest.mark.parametrize("kind", ["TIFF", "PDF"])
def test_pages_are_counted_and_told_apart(kind: str) -> None:
    shades = [Image.new("L", (60, 80), shade) for shade in (40, 120, 200)]
    if kind == "TIFF":
        data = encoded(shades[0], "TIFF", save_all=True, append_images=shades[1:])
    else:
        data = pdf(*(f"{shade / 255} g 0 0 600 800 re f" for shade in (40, 120, 200)))
    assert count_pages(data, SETTINGS) == 3
    assert [int(render_page(data, number, SETTINGS).image.mean()) for number in (1, 2, 3)] == pytest.approx(
        [40, 120, 200], abs=1
    )
    assert refusal(data, 4).reason is Reason.NOT_FOUND
    assert refusal(data, 0).reason is Reason.NOT_FOUND
    with pytest.raises(DocumentError) as caught:
        count_pages(data, replace(SETTINGS, max_pages=2))
    assert caught.value.reason is Reason.TOO_LARGE


def test_a_single_picture_is_one_page() -> None:
    data = encoded(picture("x"), "JPEG")
    assert count_pages(data, SETTINGS) == 1
    assert refusal(data, 2).reason is Reason.NOT_FOUND


def test_a_pdf_page_is_drawn_at_the_wanted_resolution_turned_and_cropped() -> None:
    entries = "/MediaBox [0 0 600 800] /CropBox [100 200 500 800] /Rotate 90"
    rendered = render_page(pdf("", page_entries=entries), 1, replace(SETTINGS, dpi=144))
    assert (rendered.width, rendered.height) == (1200, 800)
    assert rendered.image.shape == (800, 1200, 3)


@pytest.mark.parametrize("build", [pdf, pdf_with_packed_objects], ids=["plain", "packed objects"])
@pytest.mark.parametrize(("entry", "unit"), [("/UserUnit 2", 2), ("/UserUnit 1.5", 1.5), ("/UserUnit 0", 1), ("", 1)])
def test_the_size_of_a_pdf_page_follows_its_unit(build: Callable[..., bytes], entry: str, unit: float) -> None:
    data = build(typed("Hippo", x=100, y=600, size=40), page_entries=f"/MediaBox [0 0 600 800] /Rotate 90 {entry}")
    drawn = render_page(data, 1, Recognition(dpi=72))
    assert (drawn.width, drawn.height) == (800 * unit, 600 * unit)
    page = recognise_page(data, 1, Recognition(dpi=72))
    assert (page.width, page.height) == (800 * unit, 600 * unit)
    (word,) = page.words
    assert word.box.x0 * 800 == pytest.approx(600, abs=15)


def test_a_picture_inside_a_pdf_is_drawn() -> None:
    dark = encoded(Image.new("L", (50, 50), 0), "JPEG")
    rendered = render_page(
        pdf(placed_picture(left=0, bottom=400, width=600, height=400), jpeg=dark), 1, replace(SETTINGS, dpi=72)
    )
    assert rendered.image[:390].max() < 20
    assert rendered.image[410:].min() == 255
