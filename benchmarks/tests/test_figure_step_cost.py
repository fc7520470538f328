"""Time and memory stand at their lengths, in the units that the axes name."""

import json

import pytest

from benchmarks.figures.step_cost import StepCostRow, draw_step_costs, parse
from layoutray.errors import InputError
from layoutray.report.png import png

ROWS = [
    StepCostRow("skimformer", 1024, 0.25, 3 * 2**20),
    StepCostRow("skimformer", 512, 0.125, 2**20),
    StepCostRow("bert", 512, 0.5, 2**21),
]


def test_lines_are_sorted_by_length_in_milliseconds_and_mebibytes() -> None:
    figure = draw_step_costs(ROWS)
    time, memory = figure.axes
    assert [list(line.get_xdata()) for line in time.lines] == [[512, 1024], [512]]
    assert [list(line.get_ydata()) for line in time.lines] == [[125, 250], [500]]
    assert [list(line.get_ydata()) for line in memory.lines] == [[1, 3], [2]]
    assert {axes.get_xscale() + axes.get_yscale() for axes in figure.axes} == {"loglog"}
    assert [label.get_text() for label in memory.get_xticklabels()] == ["512", "1,024"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["skimformer", "bert"]
    assert png(figure).startswith(b"\x89PNG")


def test_the_lines_of_many_models_differ() -> None:
    figure = draw_step_costs([StepCostRow(f"model {index}", 512, 1 + index, 1000) for index in range(20)])
    assert len({(line.get_color(), line.get_marker()) for line in figure.axes[0].lines}) == 20


def test_the_names_of_many_models_fit_above_both_plots() -> None:
    names = [f"Skimformer, no contextualiser{of}" for of in ("", ", compiled", ", GPU")] + [
        f"model {index}" for index in range(9)
    ]
    figure = draw_step_costs([StepCostRow(name, 512, 1, 1000) for name in names])
    png(figure)
    legend, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert whole.x0 <= legend.x0 < legend.x1 <= whole.x1
    assert max(axes.get_window_extent().y1 for axes in figure.axes) < legend.y0 < legend.y1 <= whole.y1


def test_a_file_of_rows_is_read() -> None:
    rows = [{"model": row.model, "length": row.length, "seconds": row.seconds, "bytes": row.bytes} for row in ROWS]
    assert parse(json.dumps(rows).encode()) == ROWS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"not JSON", "the file: Invalid JSON"),
        (b"{}", "the file: Input should be a valid array"),
        (b"[]", "no rows"),
        (b'[{"model": "bert", "length": 512, "seconds": 1}]', r"0\.bytes: Field required"),
        (b'[{"model": "bert", "length": "512", "seconds": 1, "bytes": 1}]', r"0\.length: .*integer"),
        (b'[{"model": "bert", "length": 512, "seconds": 0, "bytes": 1}]', r"seconds=0.0.*must be above 0"),
    ],
)
def test_malformed_files_are_refused_with_the_place_of_the_error(text: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(text)
