"""Memory stands over the pages that were done."""

from benchmarks.figures.memory import draw_memory
from layoutray.report.png import png


def test_roles_keep_their_order_and_the_axis_starts_at_zero() -> None:
    figure = draw_memory({"driver": [(1, 300.0), (9, 310.0)], "workers": [(1, 500.0), (9, 480.0)]})
    (axes,) = figure.axes
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 9], [1, 9]]
    assert [list(line.get_ydata()) for line in axes.lines] == [[300.0, 310.0], [500.0, 480.0]]
    assert axes.get_ylim()[0] == 0
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["driver", "workers"]
    assert png(figure).startswith(b"\x89PNG")
