"""Each value is a dot in its interval."""

from layoutray.metrics.bootstrap import Interval
from layoutray.report.intervals import intervals
from layoutray.report.png import png


def test_every_value_of_every_row_is_drawn() -> None:
    groups = {
        "first": {"clean": Interval(0.9, 0.8, 0.95), "noisy": Interval(0.7, 0.6, 0.8)},
        "second": {"clean": Interval(0.5, 0.4, 0.6), "noisy": Interval(0.2, 0.1, 0.3)},
    }
    figure = intervals(groups, "field_f1")
    (axes,) = figure.axes
    drawn = [list(container.lines[0].get_xdata()) for container in axes.containers]
    assert drawn == [[0.9, 0.5], [0.7, 0.2]]
    ((*spans,),) = [container.lines[2] for container in axes.containers[:1]]
    assert [[float(x) for x, _ in path] for path in spans[0].get_segments()] == [[0.8, 0.95], [0.4, 0.6]]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["first", "second"]
    assert axes.yaxis_inverted(), "the first row is at the top"
    assert png(figure).startswith(b"\x89PNG")
