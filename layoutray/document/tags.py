"""IOB2: entities as a tag per word: `B-type` begins one, `I-type` continues it, `O` is outside."""

from collections.abc import Iterable, Sequence

from layoutray.errors import InputError

OUTSIDE = "O"

Span = tuple[str, int, int]
"""Type of an entity, its first word, and the word after its last."""


def spans(tags: Sequence[str | None]) -> list[Span]:
    """Entities of a page's tags, in order; None counts as outside.

    As lenient as seqeval by default: an `I-` that continues nothing begins an entity of its own.

    Raises:
        InputError: for a tag that is not IOB2.
    """
    found: list[Span] = []
    for index, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        if prefix == OUTSIDE:
            continue
        if prefix == "I" and found and found[-1][0] == kind and found[-1][2] == index:
            found[-1] = (kind, found[-1][1], index + 1)
        else:
            found.append((kind, index, index + 1))
    return found


def to_iob2(entities: Iterable[Span], length: int) -> list[str]:
    """Tags of `length` words that hold `entities`.

    Raises:
        InputError: when an entity is empty, reaches outside the words, or shares a word with another.
    """
    tags = [OUTSIDE] * length
    for kind, start, end in entities:
        if not (kind and 0 <= start < end <= length):
            raise InputError(f"entity {(kind, start, end)} must name a type and satisfy 0 <= start < end <= {length} words")
        if any(tag != OUTSIDE for tag in tags[start:end]):
            raise InputError(f"entity {(kind, start, end)} shares a word with another; IOB2 holds one entity a word")
        tags[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return tags


def kind_of(label: str) -> str:
    """What a label says of a word: the type of an IOB2 tag; any other label speaks for itself."""
    return label[2:] if label[:2] in ("B-", "I-") else label


def split_tag(tag: str | None) -> tuple[str, str]:
    """Prefix (`B`, `I` or `O`) and type of a tag; the type of `O` and None is empty.

    Raises:
        InputError: for a tag that is not IOB2.
    """
    if tag is None or tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, kind = tag.partition("-")
    if prefix not in ("B", "I") or not dash or not kind:
        raise InputError(f"tag {tag!r} is not IOB2; allowed are B-<type>, I-<type> and {OUTSIDE}")
    return prefix, kind
