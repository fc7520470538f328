from layoutray.document import Box
from layoutray.readers.datasets.regions import AnnotatedRegion, words_of


def region(x: float, y: float, label: str = "O", text: str = "", width: float = 0.08, **known: int) -> AnnotatedRegion:
    return AnnotatedRegion(box=Box(x, y, x + width, y + 0.04), label=label, text=text, **known)


def known(texts: str) -> list[AnnotatedRegion]:
    """Words of an export in one line, half a page apart from top to bottom of their numbers."""
    return [region(0.1 * n, 0.1, text=text, number=n, line=0, block=0) for n, text in enumerate(texts.split())]


def texts_and_tags(*regions: AnnotatedRegion) -> list[tuple[str, str | None]]:
    return [(word.text, word.tag) for word in words_of(regions)[0]]


def test_an_area_labels_the_words_whose_centres_it_holds_as_one_entity() -> None:
    area = AnnotatedRegion(box=Box(0.13, 0.05, 0.33, 0.2), label="name")
    assert texts_and_tags(*known("by ACME Corp to"), area) == [
        ("by", "O"),
        ("ACME", "B-name"),
        ("Corp", "I-name"),
        ("to", "O"),
    ]
    inner = AnnotatedRegion(box=Box(0.2, 0.1, 0.3, 0.15), label="kind")
    assert [tag for _, tag in texts_and_tags(*known("by ACME Corp to"), area, inner)] == ["O", "B-name", "B-kind", "O"]


def test_an_area_goes_before_what_its_words_were_labelled_as() -> None:
    words = [region(0.1 * n, 0.1, "wrong", text, number=n, line=0, block=0, entity=0) for n, text in enumerate("ab")]
    assert texts_and_tags(*words, AnnotatedRegion(box=Box(0, 0, 1, 1), label="right")) == [
        ("a", "B-right"),
        ("b", "I-right"),
    ]


def test_areas_around_nothing_and_words_without_text_come_to_nothing() -> None:
    words, nothing = words_of([*known("a"), region(0.5, 0.5, "name"), region(0.7, 0.7), region(0.8, 0.8, text="  ")])
    assert ([word.text for word in words], nothing) == (["a"], 3)


def test_blanks_part_a_transcription_into_words_of_one_entity() -> None:
    (first, second), _ = words_of([region(0.1, 0.1, "name", "ACME Corp", width=0.09)])
    assert [(word.text, word.tag, word.line) for word in (first, second)] == [
        ("ACME", "B-name", 0),
        ("Corp", "I-name", 0),
    ]
    assert first.box.x1 < second.box.x0


def test_added_words_stand_beside_those_of_their_line_or_below_those_above() -> None:
    below = region(0.1, 0.3, text="below")
    right, left = region(0.45, 0.11, text="right"), region(0.0, 0.6, text="last", width=0.02)
    made, _ = words_of([left, right, *known("a b c"), below])
    assert [(word.text, word.line) for word in made] == [
        ("a", 0),
        ("b", 0),
        ("c", 0),
        ("right", 0),
        ("below", 1),
        ("last", 2),
    ]
    assert [
        word.text
        for word in words_of([region(0.1, 0.1, text="x"), region(0.3, 0.1, text="y"), region(0.2, 0.1, text="m")])[0]
    ] == [
        "x",
        "m",
        "y",
    ]


def test_words_of_one_label_are_one_entity_unless_they_came_as_two() -> None:
    def tags(*entities: int | None) -> list[str | None]:
        regions = [
            AnnotatedRegion(box=Box(0, 0, 1, 1), label="item", text="w", number=n, line=0, block=0, entity=entity)
            for n, entity in enumerate(entities)
        ]
        return [word.tag for word in words_of(regions)[0]]

    assert tags(0, 0, 1) == ["B-item", "I-item", "B-item"]
    assert tags(None, None) == ["B-item", "I-item"], "words that a person has labelled"
    assert tags(0, None, 0, None, 1) == ["B-item", "I-item", "I-item", "I-item", "B-item"], (
        "a missed word within an entity"
    )


def test_a_page_may_be_empty() -> None:
    assert words_of([]) == ([], 0)
