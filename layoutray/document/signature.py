"""Fields that say whether a page is signed: labels of signatures, and the signature beside or above each."""

from collections.abc import Iterator, Mapping

from layoutray.document.answers import Entity, regions_of
from layoutray.document.field_type import FieldType
from layoutray.document.geometry import Box
from layoutray.document.mark import Marks, has_words, plain
from layoutray.document.page import SIGNED, UNSIGNED, Page

_LABELS = {
    "signature", "signed", "unterschrift", "unterzeichnet", "signé", "firma", "firmado", "assinatura", "handtekening",
    "podpis", "underskrift", "allekirjoitus", "aláírás",
}  # fmt: skip
_ALONE = {"by", "sign here"}
"""Labels if no other word is beside them."""
_LONGEST_LABEL = 6
"""Words. Longer lines are sentences about signatures."""
_BESIDE, _ABOVE, _ASIDE, _BELOW = 14.0, 3.0, 5.0, 1.2
"""Most distances of a signature to the right of its label, above it, to the right if it is above, and below it, as
shares of the height of the label."""
_CONFIDENCE = 0.8
"""Of a label that has no signature."""


def signatures(page: Page, schema: Mapping[str, FieldType]) -> Iterator[Entity]:
    """Whether each label of a field of type `signature` is signed.

    The labels of a field have its description, or else its name; those of a field that is named `signature` are the
    usual ones of several languages.
    """
    wanted = {name: plain(kind.description or name) for name, kind in schema.items() if kind.type == "signature"}
    if not wanted:
        return
    labels = _labels(page, {*wanted.values()})
    signed = _signed(page, labels)
    for name, label in wanted.items():
        for words, printed in labels.items():
            if _is_label(printed) if label == "signature" else has_words(label, printed):
                at = (signed[words],) if words in signed else words
                yield Entity(
                    type=name,
                    content=SIGNED if words in signed else UNSIGNED,
                    confidence=(page.words[at[0]].confidence or 1.0) if words in signed else _CONFIDENCE,
                    bounding_regions=regions_of(page, [page.words[number] for number in at]),
                    words=at,
                )


def _labels(page: Page, wanted: set[str]) -> dict[tuple[int, ...], str]:
    """Words that stand together in a line and are a usual label, or have those of `wanted`, with their text."""
    lines, found = Marks(page), dict[tuple[int, ...], str]()
    tokens = {*_LABELS, *" ".join([*_ALONE, *wanted]).split()}
    for number, word in enumerate(page.words):
        if tokens.isdisjoint(plain(word.text).split()):
            continue
        right, left = lines.beside(number)
        words = tuple(one for one in (*reversed(left[1:]), *right) if page.words[one].text != SIGNED)
        printed = plain(" ".join(page.words[one].text for one in words))
        if len(words) <= _LONGEST_LABEL and (_is_label(printed) or any(has_words(one, printed) for one in wanted)):
            found[words] = printed
    return found


def _is_label(printed: str) -> bool:
    return printed in _ALONE or not _LABELS.isdisjoint(printed.split())


def _signed(page: Page, labels: Mapping[tuple[int, ...], str]) -> dict[tuple[int, ...], int]:
    """The signature of each label that has one: the nearest pairs, each signature once."""
    found: dict[tuple[int, ...], int] = {}
    pairs = (
        (distance, words, number)
        for number, word in enumerate(page.words)
        for words in labels
        if word.text == SIGNED and (distance := _distance(page, words, word.box)) is not None
    )
    for _, words, number in sorted(pairs):
        if words not in found and number not in found.values():
            found[words] = number
    return found


def _distance(page: Page, words: tuple[int, ...], sign: Box) -> float | None:
    """From a label to a signature to its right, above or below, in heights of the label; None if it is elsewhere."""
    label = Box.around(page.words[number].box for number in words)
    unit = max(page.words[number].box.y1 - page.words[number].box.y0 for number in words)
    right = max(0.0, sign.x0 - label.x1) * page.width / page.height / unit
    above, below = (label.y0 - sign.y1) / unit, (sign.y0 - label.y1) / unit
    if sign.x0 > label.x0 and sign.x1 > label.x1 and above < 1 and below <= _BELOW and right <= _BESIDE:
        between = Box(min(label.x1, sign.x0), label.y0, sign.x0, label.y1)
        apart = (one for number, one in enumerate(page.words) if number not in words and one.text != SIGNED)
        return None if any(between.iou(word.box) > 0 for word in apart) else right
    is_level = right <= _ASIDE and label.x0 < sign.x1
    return max(above, below, 0.0) + right if is_level and above <= _ABOVE and below <= _BELOW else None
