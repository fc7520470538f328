"""Overlays show every entity in its colour, at its place, on pages of any size."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from layoutray.document.answers import Entity, Region
from layoutray.report.canvas import SHOWN_HEIGHT
from layoutray.report.overlay import SHOWN_WIDTH, draw
from layoutray.report.palette import Colour, colours_of


def entity(kind: str, *boxes: tuple[float, float, float, float], page: int = 1, content: str = "text") -> Entity:
    regions = tuple(Region(page, (x0, y0, x1, y0, x1, y1, x0, y1)) for x0, y0, x1, y1 in boxes)
    return Entity(type=kind, content=content, confidence=0.875, bounding_regions=regions, words=())


def blank(width: int = 1000, height: int = 800) -> Image.Image:
    return Image.new("L", (width, height), 255)


def tint(colour: Colour) -> tuple[int, ...]:
    """The colour of a box's inside on white paper."""
    return tuple(round(255 + (side - 255) * 70 / 255) for side in colour)


def has(picture: Image.Image, colour: Colour) -> bool:
    return bool((np.asarray(picture) == np.array(colour)).all(axis=-1).any())


def page_part(picture: Image.Image, width: int = 1000) -> Image.Image:
    return picture.crop((0, 0, width, picture.height))


def test_boxes_lie_where_the_polygons_say_in_their_types_colour() -> None:
    picture = draw(blank(), [entity("date", (100, 200, 300, 260)), entity("total", (500, 600, 700, 650))])
    colours = colours_of(["date", "total"])
    assert picture.getpixel((200, 230)) == pytest.approx(tint(colours["date"]), abs=1)
    assert picture.getpixel((600, 625)) == pytest.approx(tint(colours["total"]), abs=1)
    assert picture.getpixel((50, 50)) == (255, 255, 255)
    assert picture.getpixel((98, 230)) == colours["date"]


@pytest.mark.parametrize("size", [(40, 30), (300, 3000), (1000, 800), (5000, 7000), (1, 1), (8000, 20)])
def test_any_page_becomes_a_picture_of_readable_size(size: tuple[int, int]) -> None:
    width, height = size
    picture = draw(blank(*size), [entity("date", (0, 0, width, height))])
    panel = draw(blank(), []).width - 1000
    assert picture.width - panel <= SHOWN_WIDTH[1]
    assert picture.height <= SHOWN_HEIGHT
    assert has(picture, colours_of(["date"])["date"])


def test_places_follow_the_scale() -> None:
    picture = draw(blank(4000, 4000), [entity("date", (2000, 2000, 3000, 3000))])
    scale = SHOWN_WIDTH[1] / 4000
    assert picture.getpixel((int(2500 * scale), int(2500 * scale))) == pytest.approx(
        tint(colours_of(["date"])["date"]), abs=1
    )


def test_a_page_without_entities_stays_as_it_is() -> None:
    page = Image.effect_noise((1000, 800), 80)
    assert np.array_equal(np.asarray(page_part(draw(page, []))), np.asarray(page.convert("RGB")))


def test_other_pages_regions_are_left_out() -> None:
    found = [entity("date", (100, 200, 300, 260), page=2)]
    assert np.array_equal(np.asarray(draw(blank(), found, page_number=1)), np.asarray(draw(blank(), [])))
    assert not np.array_equal(np.asarray(draw(blank(), found, page_number=2)), np.asarray(draw(blank(), [])))


def test_every_region_of_an_entity_is_marked_and_labelled_once() -> None:
    one = draw(blank(), [entity("date", (100, 200, 300, 260), (100, 400, 300, 460))])
    colour = colours_of(["date"])["date"]
    assert one.getpixel((200, 230)) == one.getpixel((200, 430)) == pytest.approx(tint(colour), abs=1)
    solid = (np.asarray(page_part(one)) == np.array(colour)).all(axis=-1)
    above = [int(solid[top - 24 : top - 3, 98:200].sum()) for top in (200, 400)]
    assert above[0] > 500
    assert above[1] == 0


def test_truth_is_dashed_and_not_filled() -> None:
    picture = draw(blank(), [], truth=[entity("date", (100, 200, 300, 260))])
    colour = np.array(colours_of(["date"])["date"])
    edge = (np.asarray(picture)[194, 94:306] == colour).all(axis=-1)
    assert 0.3 < edge.mean() < 0.9
    assert picture.getpixel((200, 230)) == (255, 255, 255)


def test_colours_depend_on_the_types_of_the_model_not_on_the_page() -> None:
    types = ["address", "company", "date", "total"]
    alone = draw(blank(), [entity("total", (100, 200, 300, 260))], types=types)
    assert alone.getpixel((98, 230)) == colours_of(types)["total"]


def test_a_crowd_of_labels_hides_no_box() -> None:
    places = [(100.0 + 60 * (index % 10), 100.0 + 24 * (index // 10)) for index in range(100)]
    picture = draw(blank(), [entity("date", (x, y, x + 50, y + 20)) for x, y in places])
    inside = tint(colours_of(["date"])["date"])
    shown = [picture.getpixel((int(x + 25), int(y + 10))) == pytest.approx(inside, abs=1) for x, y in places]
    assert np.mean(shown) > 0.95


def test_colour_pages_and_odd_contents_are_taken() -> None:
    found = [
        entity("date", (100, 200, 300, 260), content="ж 日本 " + "long " * 100),
        entity("", (0, 0, 1, 1), content=""),
    ]
    picture = draw(Image.new("RGB", (1000, 800), (255, 255, 255)), found)
    assert picture.mode == "RGB"
    assert draw(Image.new("RGBA", (1000, 800), (255, 255, 255, 255)), found).size == picture.size


def test_neighbouring_types_are_told_apart_however_many_there_are() -> None:
    colours = list(colours_of([f"type {index:02}" for index in range(18)]).values())
    assert len(set(colours)) == 18


def test_labels_stand_beside_text_not_on_it() -> None:
    page = blank()
    text = (100, 140, 400, 196)  # right above the box: the place that a label takes on a blank page
    ImageDraw.Draw(page).rectangle(text, fill=0)
    picture = draw(page, [entity("date", (100, 200, 300, 260))])
    assert (np.asarray(picture.crop(text)) == 0).all()
    colour = colours_of(["date"])["date"]
    assert has(picture.crop((303, 190, 500, 270)), colour)


def test_a_label_that_finds_no_free_place_is_drawn_where_it_hides_least() -> None:
    page = Image.new("L", (1000, 800), 255)
    ImageDraw.Draw(page).rectangle((0, 0, 1000, 380), fill=0)
    picture = page_part(draw(page, [entity("date", (0, 0, 999, 300))]))
    assert has(picture.crop((0, 303, 1000, 330)), colours_of(["date"])["date"])
