"""Colours of entity types: told apart by colour-blind readers, and the same in every picture of the same types."""

from collections.abc import Iterable, Mapping

Colour = tuple[int, int, int]

# Okabe and Ito's set without its yellow (too faint as an outline on paper) and three of Paul Tol's muted tones.
COLOURS: tuple[Colour, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (51, 34, 136),
    (86, 180, 233),
    (136, 34, 85),
    (153, 153, 51),
)


def colours_of(types: Iterable[str]) -> Mapping[str, Colour]:
    """A colour for each name, given in alphabetical order so that it depends on the set of names alone.

    After the last colour the tones come again, each round darker; labels always carry the name besides.
    """
    return {name: _shade(index) for index, name in enumerate(sorted(set(types)))}


def ink_on(colour: Colour) -> Colour:
    """Black or white, whichever reads better on `colour` (relative luminance, ITU-R BT.709 weights)."""
    red, green, blue = colour
    return (0, 0, 0) if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 140 else (255, 255, 255)


def as_hex(colour: Colour) -> str:
    """`#rrggbb`, as plots want it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _shade(index: int) -> Colour:
    round_, position = divmod(index, len(COLOURS))
    factor = 0.72**round_
    red, green, blue = COLOURS[position]
    return int(red * factor), int(green * factor), int(blue * factor)
