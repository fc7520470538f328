"""Entities as a tag per word, in IOB2 or BIOES.

IOB2: `B-type` begins an entity, `I-type` continues it, `O` is outside. BIOES: `E-type` marks the last word as well, and `S-type` an
entity of one word. `spans` reads both, `to_iob2` and `to_bioes` write, so that one becomes the other without loss.
"""

from collections.abc import Iterable, Sequence

from layoutray.errors import InputError

OUTSIDE = "O"

_PREFIXES = ("B", "I", "E", "S")

Span = tuple[str, int, int]
"""Type of an entity, its first word, and the word after its last."""


def spans(tags: Sequence[str | None]) -> list[Span]:
    """Entities of a page's tags, in order; None counts as outside.

    As lenient as seqeval by default: an `I-` or `E-` that continues nothing begins an entity of its own, and one without an end ends
    where it is not continued.

    Raises:
        InputError: for a tag that is neither IOB2 nor BIOES.
    """
    found: list[Span] = []
    before = OUTSIDE
    for index, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        if prefix in ("I", "E") and before in ("B", "I") and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1], index + 1)
        elif prefix != OUTSIDE:
            found.append((kind, index, index + 1))
        before = prefix
    return found


def to_iob2(entities: Iterable[Span], length: int) -> list[str]:
    """IOB2 tags of `length` words that hold `entities`.

    Raises:
        InputError: when an entity is empty, reaches outside the words, or shares a word with another.
    """
    tags = [OUTSIDE] * length
    for kind, start, end in entities:
        if not (kind and 0 <= start < end <= length):
            raise InputError(
                f"entity {(kind, start, end)} must name a type and satisfy 0 <= start < end <= {length} words"
            )
        if any(tag != OUTSIDE for tag in tags[start:end]):
            raise InputError(f"entity {(kind, start, end)} shares a word with another; a tag holds one entity a word")
        tags[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return tags


def to_bioes(entities: Iterable[Span], length: int) -> list[str]:
    """BIOES tags of `length` words that hold `entities`. Raises as `to_iob2`."""
    listed = list(entities)
    tags = to_iob2(listed, length)
    for kind, start, end in listed:
        tags[end - 1] = f"{'S' if end - start == 1 else 'E'}-{kind}"
    return tags


def kind_of(label: str) -> str:
    """What a label says of a word: the type of an entity's tag; any other label speaks for itself."""
    return label[2:] if label[:1] in _PREFIXES and label[1:2] == "-" else label


def hold_entities(tags: Iterable[str | None]) -> bool:
    """Whether `tags` are of entities (IOB2 or BIOES); False for labels of regions, and where there is none at all."""
    given = [tag for tag in tags if tag is not None]
    try:
        for tag in given:
            split_tag(tag)
    except InputError:
        return False
    return bool(given)


def split_tag(tag: str | None) -> tuple[str, str]:
    """Prefix (`B`, `I`, `E`, `S` or `O`) and type of a tag; the type of `O` and None is empty.

    Raises:
        InputError: for a tag that is neither IOB2 nor BIOES.
    """
    if tag is None or tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, kind = tag.partition("-")
    if prefix not in _PREFIXES or not dash or not kind:
        raise InputError(
            f"tag {tag!r} is neither IOB2 nor BIOES; allowed are {', '.join(f'{one}-<type>' for one in _PREFIXES)} and {OUTSIDE}"
        )
    return prefix, kind
