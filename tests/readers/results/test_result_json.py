from hypothesis import given
from hypothesis import strategies as st

from layoutray.readers.results.result_json import TextSpans, with_camel_case


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=6), st.integers(-1, 50))
def test_a_position_is_in_the_span_around_it(gaps: list[tuple[int, int]], position: int) -> None:
    spans, end = [], 0
    for gap, length in gaps:
        spans.append((end + gap, end + gap + length))
        end += gap + length
    expected = [number for number, (start, stop) in enumerate(spans) if start <= position < stop]
    numbered = [(span, number) for number, span in enumerate(spans)]
    assert TextSpans(reversed(numbered)).at(position) == (expected[0] if expected else None)


def test_names_of_keys_are_those_of_the_documentation() -> None:
    names = {"text_anchor": 1, "textAnchor": 2, "type_": 3, "v1_x": 4, "text": 5, "_": 6}
    assert with_camel_case({"a": names, **names}) == {
        "a": names,
        "textAnchor": 2,
        "type_": 3,
        "v1X": 4,
        "text": 5,
        "_": 6,
    }
