from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Box, LabelledArea, Word
from layoutray.document.tags import spans, to_iob2
from layoutray.prepare.align import label_by_area, transfer_tags


def row(*words: tuple[str, str | None], y: float = 0.1) -> list[Word]:
    """Words side by side, a tenth of the page apart."""
    return [
        Word(text=text, box=Box(0.1 * index, y, 0.1 * index + 0.08, y + 0.02), tag=tag)
        for index, (text, tag) in enumerate(words)
    ]


def seen(words: Sequence[Word], shift: float = 0.004) -> list[Word]:
    """The same words as an engine places them: without tags, a little off."""
    boxes = [Box(word.box.x0 + shift, word.box.y0 + shift, word.box.x1 + shift, word.box.y1 + shift) for word in words]
    return [Word(text=word.text, box=box, confidence=0.9) for word, box in zip(words, boxes, strict=True)]


def tags(aligned: tuple[Sequence[Word], int]) -> list[str | None]:
    return [word.tag for word in aligned[0]]


TRUTH = row(("Total", "O"), ("A", "B-company"), ("Ltd", "I-company"), ("1/2/18", "B-date"), ("9.00", "B-total"))


def test_words_take_the_tags_that_they_lie_on_and_stay_themselves() -> None:
    recognised = seen(TRUTH)
    aligned = transfer_tags(recognised, TRUTH)
    assert tags(aligned) == ["O", "B-company", "I-company", "B-date", "B-total"]
    assert [(word.text, word.box, word.confidence) for word in aligned[0]] == [
        (word.text, word.box, 0.9) for word in recognised
    ]
    assert aligned[1] == 0


def test_a_missed_first_word_leaves_the_second_to_begin() -> None:
    aligned = transfer_tags(seen(TRUTH[:1] + TRUTH[2:3]), TRUTH)
    assert tags(aligned) == ["O", "B-company"]
    assert aligned[1] == 2


def test_a_word_read_in_two_pieces_is_one_entity() -> None:
    box = TRUTH[3].box
    middle = (box.x0 + box.x1) / 2
    halves = [
        Word(text="1/", box=Box(box.x0, box.y0, middle, box.y1)),
        Word(text="2/18", box=Box(middle, box.y0, box.x1, box.y1)),
    ]
    assert tags(transfer_tags(halves, TRUTH)) == ["B-date", "I-date"]


def test_words_read_as_one_take_the_largest() -> None:
    merged = Word(text="ALtd1", box=Box.around([TRUTH[1].box, TRUTH[2].box]))
    assert tags(transfer_tags([merged], TRUTH)) == ["B-company"]
    wide = [
        Word(text="Total", box=Box(0.0, 0.1, 0.3, 0.12), tag="B-total"),
        Word(text=":", box=Box(0.31, 0.1, 0.32, 0.12), tag="O"),
    ]
    assert tags(transfer_tags([Word(text="Total:", box=Box(0.0, 0.1, 0.32, 0.12))], wide)) == ["B-total"]


def test_words_that_match_nothing_are_outside_and_end_the_entity() -> None:
    noise = Word(text="~", box=Box(0.5, 0.5, 0.51, 0.51))
    first, second = seen(TRUTH[1:3])
    assert tags(transfer_tags([first, noise, second], TRUTH)) == ["B-company", "O", "B-company"]


def test_a_frame_around_everything_is_none_of_it() -> None:
    frame = Word(text="|", box=Box(0.0, 0.0, 1.0, 1.0))
    aligned = transfer_tags([frame], TRUTH)
    assert (tags(aligned), aligned[1]) == (["O"], 3)


def test_a_truth_of_whole_lines_covers_its_words() -> None:
    line = Word(text="A Ltd", box=Box.around([TRUTH[1].box, TRUTH[2].box]), tag="B-company")
    assert tags(transfer_tags(seen(TRUTH[1:3], shift=0.0), [line])) == ["B-company", "I-company"]


def test_neighbours_of_one_type_stay_two_entities() -> None:
    truth = row(("1", "B-date"), ("2", "B-date"), ("3", "I-date"))
    assert tags(transfer_tags(seen(truth), truth)) == ["B-date", "B-date", "I-date"]


def test_region_labels_are_copied() -> None:
    truth = row(("a", "title"), ("b", "paragraph"), ("c", "paragraph"), ("d", None))
    noise = Word(text="~", box=Box(0.5, 0.5, 0.51, 0.51))
    aligned = transfer_tags([*seen(truth[:2]), noise, *seen(truth[3:])], truth)
    assert tags(aligned) == ["title", "paragraph", None, None]
    assert aligned[1] == 1


def test_a_word_is_what_the_smallest_area_around_its_centre_is() -> None:
    figure, caption = LabelledArea("figure", Box(0.0, 0.0, 0.6, 0.6)), LabelledArea("text", Box(0.1, 0.5, 0.5, 0.6))
    boxes = {
        "inside both": Box(0.2, 0.52, 0.3, 0.54),
        "inside one": Box(0.2, 0.1, 0.3, 0.12),
        "mostly inside": Box(0.5, 0.1, 0.68, 0.12),
        "mostly outside": Box(0.55, 0.1, 0.75, 0.12),
        "outside": Box(0.7, 0.7, 0.8, 0.72),
    }
    words = [Word(text=text, box=box, confidence=0.9, line=3, tag="old") for text, box in boxes.items()]
    for areas in ([figure, caption], [caption, figure]):
        labelled = label_by_area(words, areas)
        assert [word.tag for word in labelled] == ["text", "figure", "figure", None, None]
        assert [(word.text, word.box, word.confidence, word.line) for word in labelled] == [
            (*pair, 0.9, 3) for pair in boxes.items()
        ]


def test_a_page_without_areas_has_no_labels_and_one_without_words_nothing() -> None:
    assert [word.tag for word in label_by_area(TRUTH, [])] == [None] * len(TRUTH)
    assert label_by_area([], [LabelledArea("text", Box(0.0, 0.0, 1.0, 1.0))]) == ()


def test_a_truth_without_tags_gives_none() -> None:
    truth = row(("a", None), ("b", None))
    assert tags(transfer_tags(seen(truth), truth)) == [None, None]


def test_nothing_recognised_loses_everything_and_nothing_annotated_matches_nothing() -> None:
    assert transfer_tags([], TRUTH) == ((), 3)
    assert tags(transfer_tags(TRUTH[:1], [])) == [None]


@given(st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"]), min_size=1, max_size=10), st.data())
def test_tags_are_always_valid_and_complete_pages_keep_their_entities(drawn: list[str], data: st.DataObject) -> None:
    truth = row(*((str(index), tag) for index, tag in enumerate(drawn)))
    entities = spans(drawn)
    full = transfer_tags(seen(truth), truth)
    assert tags(full) == to_iob2(entities, len(drawn))
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(drawn))))))
    part = transfer_tags(seen([truth[index] for index in kept]), truth)
    assert tags(part) == to_iob2(spans(tags(part)), len(kept))
    assert part[1] == sum(not any(start <= index < end for index in kept) for _, start, end in entities)


def test_words_take_the_groups_that_they_lie_on() -> None:
    truth = [replace(word, group=group) for word, group in zip(TRUTH, (None, 1, 1, 2, 3), strict=True)]
    apart = Word(text="far away", box=Box(0.1, 0.8, 0.2, 0.82))
    assert [word.group for word in transfer_tags([*seen(truth), apart], truth)[0]] == [None, 1, 1, 2, 3, None]
