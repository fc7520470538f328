"""Entities as one tag per word, in IOB2 or BIOES.

IOB2: `B-type` begins an entity, `I-type` continues it, `O` is outside. BIOES also marks the last word, `E-type`, and an
entity of one word, `S-type`. `spans` reads both schemes, `to_iob2` and `to_bioes` write them; conversion is lossless.
"""

from collections.abc import Iterable, Sequence

from layoutray.errors import InputError

OUTSIDE = "O"
UNKNOWN = "?"
"""Tag of a word that may be of an entity or outside, which nobody knows: it has no target in training.

It may be followed by types that the word is known not to be of, see `unknown_but_not`.
"""
_NOT = "\t"
"""Stands before each of these types."""

_PREFIXES = ("B", "I", "E", "S")

Span = tuple[str, int, int]
"""Type of an entity, index of its first word, and index after its last word."""


def unknown_but_not(kinds: Iterable[str]) -> str:
    """The tag of a word that is of none of these types, and of which nothing else is known."""
    return UNKNOWN + "".join(f"{_NOT}{kind}" for kind in sorted(set(kinds)))


def is_unknown(tag: str | None) -> bool:
    """Whether nobody knows the tag of the word; False for a word without one."""
    return tag is not None and tag.split(_NOT, 1)[0] == UNKNOWN


def is_known(tag: str | None) -> bool:
    """Whether the word has a tag that says what it is."""
    return tag is not None and not is_unknown(tag)


def kinds_ruled_out(tag: str) -> list[str]:
    """The types that a word with an unknown tag is known not to be of."""
    return tag.split(_NOT)[1:]


def spans(tags: Sequence[str | None]) -> list[Span]:
    """Entities in a page's tags, in order. None and unknown tags count as `O`.

    Lenient like seqeval's default: an `I-` or `E-` without a preceding tag of its type begins an entity; an entity
    without an `E-` ends before the next tag that does not continue it.

    Raises:
        InputError: when a tag is neither IOB2 nor BIOES.
    """
    entities: list[Span] = []
    previous = OUTSIDE
    for index, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        if prefix in ("I", "E") and previous in ("B", "I") and entities[-1][0] == kind:
            entities[-1] = (kind, entities[-1][1], index + 1)
        elif prefix != OUTSIDE:
            entities.append((kind, index, index + 1))
        previous = prefix
    return entities


def to_iob2(entities: Iterable[Span], length: int) -> list[str]:
    """IOB2 tags of `length` words with `entities`.

    Raises:
        InputError: when an entity is empty, lies outside the words, or overlaps another.
    """
    tags = [OUTSIDE] * length
    for kind, start, end in entities:
        if not (kind and 0 <= start < end <= length):
            raise InputError(
                f"entity {(kind, start, end)} must have a type and satisfy 0 <= start < end <= {length} words"
            )
        if any(tag != OUTSIDE for tag in tags[start:end]):
            raise InputError(f"entity {(kind, start, end)} overlaps another; a word can be in one entity only")
        tags[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return tags


def to_bioes(entities: Iterable[Span], length: int) -> list[str]:
    """BIOES tags of `length` words with `entities`. Raises InputError as `to_iob2`."""
    entities = list(entities)
    tags = to_iob2(entities, length)
    for kind, start, end in entities:
        tags[end - 1] = f"{'S' if end - start == 1 else 'E'}-{kind}"
    return tags


def word_tag(kind: str, position: int) -> str:
    """The IOB2 tag of a word of an entity. `position`: of the word in its entity, from 0."""
    return OUTSIDE if kind == OUTSIDE else f"{'I' if position else 'B'}-{kind}"


def kind_of(label: str) -> str:
    """The entity type of a tag; any other label is returned unchanged."""
    return label[2:] if label[:1] in _PREFIXES and label[1:2] == "-" else label


def are_entity_tags(tags: Iterable[str | None]) -> bool:
    """Whether `tags` are IOB2 or BIOES tags; False for region labels, and when all are None."""
    given = [tag for tag in tags if tag is not None]
    try:
        for tag in given:
            split_tag(tag)
    except InputError:
        return False
    return bool(given)


def split_tag(tag: str | None) -> tuple[str, str]:
    """Prefix (`B`, `I`, `E`, `S` or `O`) and type of a tag. Unknown and None are as `O`, whose type is empty.

    Raises:
        InputError: when a tag is neither IOB2 nor BIOES.
    """
    if tag is None or tag == OUTSIDE or is_unknown(tag):
        return OUTSIDE, ""
    prefix, dash, kind = tag.partition("-")
    if prefix not in _PREFIXES or not dash or not kind:
        raise InputError(
            f"tag {tag!r} is neither IOB2 nor BIOES; "
            f"allowed: {', '.join(f'{prefix}-<type>' for prefix in _PREFIXES)} and {OUTSIDE}"
        )
    return prefix, kind
