"""The picture shows every value and marks the best."""

from layoutray.compare.trials_picture import metric_by_value
from layoutray.report.png import png


def test_every_value_is_a_point_and_the_best_is_in_the_legend() -> None:
    figure = metric_by_value([(128, 0.5), (256, 0.75), (512, 0.625)], 256, "model.top_k", "dev.area_f1")
    (axes,) = figure.axes
    curve, best = axes.lines
    assert list(curve.get_ydata()) == [0.5, 0.75, 0.625]
    assert (list(best.get_xdata()), list(best.get_ydata()), best.get_label()) == ([1], [0.75], "best: 256  (0.75)")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["128", "256", "512"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("model.top_k", "dev.area_f1")
    assert png(figure).startswith(b"\x89PNG")
