"""Splitting packets: the best sequence of documents, with exact confidences."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from layoutray.document import Box, Page, Word
from layoutray.tasks.packets import SplitPacket, best_documents, evidence, split
from tests.jobs import page

SURE = 0.96


def text_page(number: int, top: str, *others: str, more: str = "a " * 12) -> Page:
    """Lines below each other, the last at the bottom. The second one has `more` words, which are not compared."""
    lines = (top, more, *others)
    words = [
        Word(
            text=text,
            box=Box(0.05 * column, 0.9 * row / len(lines), 0.05 * column + 0.04, 0.9 * row / len(lines) + 0.02),
            line=row,
        )
        for row, line in enumerate(lines, start=1)
        for column, text in enumerate(line.split())
    ]
    return replace(page(1), number=number, words=tuple(words))


def split_of(pages: Sequence[Page], labels: Sequence[str | None], sure: float = SURE) -> SplitPacket:
    """The packet of pages whose model is `sure` of one label each; None: it has given no label."""
    names = [f"{prefix}-{kind}" for kind in ("bill", "deed") for prefix in "BIES"]
    stated = {
        one.number: {name: sure if name == label else (1 - sure) / 7 for name in names}
        for one, label in zip(pages, labels, strict=True)
        if label
    }
    return split(pages, stated)


def two_pages(words: int = 15) -> tuple[Page, ...]:
    """Pages of so many words and of 15, which have a heading in common."""
    first, second = (" ".join(f"text{page}{word}" for word in range(7)) for page in (1, 2))
    pages = ((1, first, words), (2, second, 15))
    return tuple(text_page(page, text, "northwind", more="a " * (most - 8)) for page, text, most in pages)


def ranges(packet: SplitPacket) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.kind, one.pages) for one in packet.documents]


def every_packet(length: int, kinds: int) -> Iterator[list[tuple[int, int, int]]]:
    """All sequences of documents of (first page, end, kind)."""
    for cuts in itertools.product([False, True], repeat=length - 1):
        bounds = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), length]
        for of_kinds in itertools.product(range(kinds), repeat=len(bounds) - 1):
            yield [(first, end, kind) for (first, end), kind in zip(itertools.pairwise(bounds), of_kinds, strict=True)]


def test_documents_and_confidences_are_those_of_all_packets_tried_one_by_one() -> None:
    random = np.random.default_rng(3)
    for length in (1, 2, 5):
        begin, further = random.normal(size=(2, length, 2))
        weights = {
            tuple(packet): math.exp(sum(begin[a, k] + further[a + 1 : b, k].sum() for a, b, k in packet))
            for packet in every_packet(length, 2)
        }
        total, best = sum(weights.values()), max(weights, key=lambda packet: weights[packet])
        found = best_documents(begin, further)
        assert tuple((first, end, kind) for first, end, kind, _, _ in found) == best
        for first, end, kind, confidence, begins in found:
            having = sum(weight for packet, weight in weights.items() if (first, end, kind) in packet)
            beginning = sum(weight for packet, weight in weights.items() if any(a == first for a, _, _ in packet))
            assert (confidence, begins) == (pytest.approx(having / total), pytest.approx(beginning / total))


def test_documents_are_pages_that_begin_one_with_those_that_go_on_with_it() -> None:
    pages = [text_page(number, f"text{number} with words", f"more{number}") for number in range(1, 6)]
    packet = split_of(pages, ["S-bill", "B-deed", "I-deed", "E-deed", "S-deed"], 0.9999)
    assert ranges(packet) == [("bill", (1,)), ("deed", (2, 3, 4)), ("deed", (5,))]
    assert packet.documents[0].begin_confidence == pytest.approx(1.0), "a document begins at the first page"
    assert all(0.5 < one.confidence <= 1 for one in packet.documents)


def test_a_model_that_cannot_tell_is_decided_by_printed_numbers_and_running_lines() -> None:
    numbered = [text_page(1, "Alpha", "text", "Page 1 of 2"), text_page(2, "Beta", "other", "Page 2 of 2")]
    unknown = ["B-deed", "B-deed"]
    assert ranges(split_of(numbered, unknown, 0.3)) == [("deed", (1, 2))]
    apart = [replace(one, words=one.words[:-4]) for one in numbered]
    assert ranges(split_of(apart, unknown, 0.3)) == [("deed", (1,)), ("deed", (2,))]
    headed = [text_page(n, "Northwind Trading Invoice 4711", f"goods{n}", f"sums{n}") for n in (1, 2)]
    assert ranges(split_of(headed, unknown, 0.3)) == [("deed", (1, 2))]


def test_pages_of_a_kind_that_never_had_a_second_page_are_documents_of_their_own() -> None:
    pages = [text_page(n, "Northwind Trading Receipt 4711", f"goods{n}", f"sums{n}") for n in (1, 2)]
    rare = {"B-bill": 0.03, "I-bill": 0.03, "E-bill": 0.03, "S-bill": 0.91}
    assert ranges(split(pages, {1: rare, 2: rare})) == [("bill", (1, 2))]
    never = {"B-bill": 0.0, "I-bill": 0.0, "E-bill": 0.0, "S-bill": 1.0}
    assert ranges(split(pages, {1: never, 2: never})) == [("bill", (1,)), ("bill", (2,))]


def test_the_page_before_tells_whether_it_ends_its_document() -> None:
    unknown = {"B-bill": 0.35, "I-bill": 0.15, "E-bill": 0.15, "S-bill": 0.35}
    found = {
        sure: split(two_pages(), {1: {name: 0.97 if name == sure else 0.01 for name in unknown}, 2: unknown})
        for sure in ("B-bill", "S-bill")
    }
    assert ranges(found["B-bill"]) == [("bill", (1, 2))]
    assert ranges(found["S-bill"]) == [("bill", (1,)), ("bill", (2,))]


@pytest.mark.parametrize(("words", "expected"), [(13, [("deed", (1,)), ("deed", (2,))]), (12, [("deed", (1, 2))])])
def test_a_page_of_few_words_is_of_a_document_with_one_beside_it(words: int, expected: object) -> None:
    few, long = two_pages(words)
    assert ranges(split_of([few, long], ["S-deed", "S-deed"], 0.9)) == expected
    swapped = [replace(long, number=1), replace(few, number=2)]
    assert ranges(split_of(swapped, ["S-deed", "S-deed"], 0.9)) == expected


def test_a_kind_is_decided_by_all_pages_of_the_document() -> None:
    pages = [text_page(n, "Deed of the Northwind Trading", f"clause{n}", f"Page {n} of 3") for n in (1, 2, 3)]
    packet = split_of(pages, ["B-bill", "I-deed", "I-deed"], 0.6)
    assert ranges(packet) == [("deed", (1, 2, 3))]


def test_blank_pages_and_separator_sheets_are_in_no_document() -> None:
    pages = [
        text_page(1, "Deed one", "clause"),
        replace(page(1), number=2, words=()),
        text_page(3, "Deed one", "clause"),
        text_page(4, "PATCH T", "Separator sheet", more=""),
        text_page(5, "Deed one", "clause"),
    ]
    packet = split_of(pages, ["B-deed", None, "I-deed", "B-bill", "I-deed"])
    assert ranges(packet) == [("deed", (1, 3)), ("deed", (5,))], "nothing goes on after a separator"
    assert packet.others == {2: "blank", 4: "separator"}


def test_a_packet_of_blanks_a_single_page_and_five_hundred_pages() -> None:
    blanks = [replace(page(1), number=number, words=()) for number in (1, 2)]
    assert split(blanks, {}) == SplitPacket((), {1: "blank", 2: "blank"})
    assert split([], {}) == SplitPacket((), {})
    assert ranges(split_of([text_page(1, "a")], ["I-bill"])) == [("bill", (1,))]
    many = [text_page(number, f"unlike{number}", f"any{number}") for number in range(1, 501)]
    packet = split_of(many, ["B-bill", "B-deed"] * 250, 0.999)
    assert [one.pages for one in packet.documents] == [(number,) for number in range(1, 501)]
    assert all(0 <= one.confidence <= 1 for one in packet.documents)


def test_what_adjacent_pages_have_in_common() -> None:
    first, second, third = (
        text_page(1, "Northwind Trading", "clause about delivery", "1 / 2"),
        text_page(2, "Northwind Trading", "clause about payment", "- 2 -"),
        text_page(3, "Receipt", "coffee", "12.00"),
    )
    near, far = evidence([first, second, third])
    assert (near["follows"], near["running"], near["begins"]) == (1.0, 0.8, 0.0)
    assert (far["follows"], far["running"]) == (0.0, 0.0)
    assert near["similar"] > far["similar"]
    assert evidence([third, first])[0]["begins"] == 1.0
    assert evidence([replace(second, words=second.words[:-3]), third])[0]["ended"] == 0.0
    assert evidence([text_page(1, "a", "Page 2 of 2"), third])[0]["ended"] == 1.0


def test_a_turned_page_shows_its_number_and_letters_of_another_height_are_evidence() -> None:
    first, second = text_page(1, "Northwind", "Page 1 of 2"), text_page(2, "Northwind", "Page 2 of 2")
    rising = [
        replace(word, box=replace(word.box, y0=word.box.y0 - 0.02 * word.box.x0, y1=word.box.y1 - 0.02 * word.box.x0))
        for word in second.words
    ]
    (turned,) = evidence([first, replace(second, words=tuple(rising))])
    assert (turned["follows"], turned["height"]) == (1.0, pytest.approx(0))
    larger = [replace(word, box=replace(word.box, y1=word.box.y1 + 0.02)) for word in second.words]
    assert evidence([first, replace(second, words=tuple(larger))])[0]["height"] > 0.5
