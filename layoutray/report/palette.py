"""Colours of entity types. Colour-blind readers can tell them apart; the same set of types has the same colours."""

from collections.abc import Iterable, Mapping

Colour = tuple[int, int, int]

# The palette of Okabe and Ito without yellow, which is too faint on white, and three muted colours by Paul Tol.
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
    """A colour for each name. Colours are assigned in alphabetical order, so they depend only on the set of names.

    If there are more names than colours, the colours repeat in darker shades.
    """
    colours: dict[str, Colour] = {}
    for index, name in enumerate(sorted(set(types))):
        repeats, position = divmod(index, len(COLOURS))
        red, green, blue = (int(side * 0.72**repeats) for side in COLOURS[position])
        colours[name] = red, green, blue
    return colours


def ink_on(colour: Colour) -> Colour:
    """Black or white, whichever has more contrast on `colour` (relative luminance, ITU-R BT.709 weights)."""
    red, green, blue = colour
    return (0, 0, 0) if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 140 else (255, 255, 255)


def as_hex(colour: Colour) -> str:
    """`#rrggbb`, the format that matplotlib takes."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
