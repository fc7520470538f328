"""Training and generation stand at their depths."""

from benchmarks.figures.depth import draw_depth
from layoutray.report.png import png


def test_lines_are_sorted_by_depth_and_the_axes_start_at_zero() -> None:
    figure = draw_depth({"blockwise": [(8, 4.0, 2.0), (2, 1.0, 1.5)], "deep_pyramidion": [(2, 0.5, 1.0)]})
    training, generation = figure.axes
    assert [list(line.get_xdata()) for line in training.lines] == [[2, 8], [2]]
    assert [list(line.get_ydata()) for line in training.lines] == [[1.0, 4.0], [0.5]]
    assert [list(line.get_ydata()) for line in generation.lines] == [[1.5, 2.0], [1.0]]
    assert {axes.get_ylim()[0] for axes in figure.axes} == {0}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["blockwise", "deep_pyramidion"]
    assert png(figure).startswith(b"\x89PNG")
