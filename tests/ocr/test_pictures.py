import numpy as np
import pytest
from PIL import Image

from layoutray.errors import DocumentError, Reason
from layoutray.ocr.pictures import count_pages, decode, is_turned
from layoutray.ocr.settings import Recognition
from tests.ocr.files import encoded

SETTINGS = Recognition()
ORIENTATION = 0x0112


def pixels(data: bytes, kind: str) -> np.ndarray:
    return decode(data, kind, 1, SETTINGS).image


def ramp(top: int) -> np.ndarray:
    """A 16-bit picture from black at the left to `top` at the right."""
    return np.tile(np.linspace(0, top, 64), (16, 1)).astype(np.uint16)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("top", [1023, 4095, 65535])
def test_sixteen_bits_are_scaled_by_the_bits_in_use(kind: str, top: int) -> None:
    image = pixels(encoded(Image.fromarray(ramp(top)), kind), kind)
    assert image.dtype == np.uint8
    assert image[0, 0] == 0
    assert image[0, -1] == 255
    assert np.abs(image[0].astype(int) - np.linspace(0, 255, 64)).max() <= 2


def test_sixteen_bits_with_black_as_the_largest_value_are_turned_over() -> None:
    data = encoded(Image.fromarray(ramp(65535)), "TIFF", tiffinfo={262: 0})
    image = pixels(data, "TIFF")
    assert (image[0, 0], image[0, -1]) == (255, 0)


def test_floating_point_grey_is_read() -> None:
    data = encoded(Image.fromarray(np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 64)), "TIFF")
    assert np.abs(pixels(data, "TIFF")[0].astype(int) - np.linspace(0, 255, 64)).max() <= 2


def test_one_bit_becomes_black_and_white() -> None:
    image = Image.new("1", (10, 4), 1)
    image.putpixel((3, 2), 0)
    got = pixels(encoded(image, "PNG"), "PNG")
    assert got.ndim == 2
    assert (got[2, 3], got[0, 0]) == (0, 255)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_what_is_transparent_is_paper(mode: str) -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    image.paste((200, 0, 0, 255), (0, 0, 4, 8))
    got = pixels(encoded(image.convert("P" if mode == "PA" else mode), "PNG"), "PNG")
    assert got[4, 6].min() == 255
    assert got[4, 1].min() < 100


def test_palette_colours_become_rgb() -> None:
    image = Image.new("RGB", (8, 8), (10, 200, 30)).quantize(4)
    got = pixels(encoded(image, "PNG"), "PNG")
    assert got.shape == (8, 8, 3)
    assert np.abs(got[0, 0].astype(int) - (10, 200, 30)).max() <= 3


def test_ink_on_a_cmyk_jpeg_is_dark_and_paper_white() -> None:
    image = Image.new("CMYK", (32, 16), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (0, 0, 16, 16))
    got = pixels(encoded(image, "JPEG", quality=95), "JPEG")
    assert got[8, 4].max() < 20
    assert got[8, 28].min() > 235


def marked_corner(orientation: int) -> bytes:
    """A 60 x 40 picture, dark in its stored top left, with an EXIF orientation."""
    image = Image.new("L", (60, 40), 255)
    image.paste(0, (0, 0, 20, 10))
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return encoded(image, "JPEG", exif=exif, quality=95)


@pytest.mark.parametrize(
    ("orientation", "shape", "dark"),
    [(1, (40, 60), (2, 2)), (3, (40, 60), (37, 57)), (6, (60, 40), (2, 37)), (8, (60, 40), (57, 2))],
)
def test_exif_orientation_is_followed(orientation: int, shape: tuple[int, int], dark: tuple[int, int]) -> None:
    got = pixels(marked_corner(orientation), "JPEG")
    assert got.shape == shape
    assert got[dark] < 30
    assert got[shape[0] // 2, shape[1] // 2] > 220


@pytest.mark.parametrize("orientation", [1, 2, 3, 6, 8])
def test_it_is_known_which_pictures_exif_turns(orientation: int) -> None:
    assert is_turned(marked_corner(orientation), "JPEG") == (orientation != 1)


def test_a_picture_without_exif_is_not_turned() -> None:
    assert not is_turned(encoded(Image.new("L", (4, 4)), "PNG"), "PNG")


def test_damaged_exif_does_not_cost_the_picture() -> None:
    data = marked_corner(6)
    start = data.index(b"Exif\0\0") + 6
    assert pixels(data[:start] + b"\xff" * 20 + data[start + 20 :], "JPEG").shape == (40, 60)


def test_a_tiff_whose_frames_form_a_ring_ends() -> None:
    data = bytearray(encoded(Image.new("L", (4, 4)), "TIFF"))
    first = int.from_bytes(data[4:8], "little")
    entries = int.from_bytes(data[first : first + 2], "little")
    data[first + 2 + 12 * entries : first + 6 + 12 * entries] = first.to_bytes(4, "little")
    with pytest.raises(DocumentError) as caught:
        decode(bytes(data), "TIFF", 2, SETTINGS)
    assert caught.value.reason in (Reason.NOT_FOUND, Reason.UNREADABLE)


@pytest.mark.parametrize("marks", [{254: 1}, {254: 5}, {255: 2}])
@pytest.mark.parametrize("first", [True, False])
def test_thumbnails_in_a_tiff_are_no_pages(marks: dict[int, int], first: bool) -> None:
    page = Image.new("L", (60, 80), 40)
    thumbnail = Image.new("L", (6, 8), 200)
    thumbnail.encoderinfo = {"tiffinfo": marks}
    page.encoderinfo = {"tiffinfo": {254: 0}}
    frames = [thumbnail, page, page] if first else [page, thumbnail, page, thumbnail]
    options = {"tiffinfo": marks} if first else {}
    data = encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:], **options)
    assert count_pages(data, "TIFF", SETTINGS) == 2
    assert [decode(data, "TIFF", number, SETTINGS).width for number in (1, 2)] == [60, 60]
    with pytest.raises(DocumentError) as caught:
        decode(data, "TIFF", 3, SETTINGS)
    assert caught.value.reason is Reason.NOT_FOUND


def test_a_tiff_of_thumbnails_alone_has_one_page() -> None:
    data = encoded(Image.new("L", (6, 8), 200), "TIFF", tiffinfo={254: 1})
    assert count_pages(data, "TIFF", SETTINGS) == 1
    assert decode(data, "TIFF", 1, SETTINGS).width == 6
