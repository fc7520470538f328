"""The pictures of trials show every value, and what is the best or predicted."""

import numpy as np

from layoutray.compare.pictures import learning_curve, metric_by_value
from layoutray.metrics.bootstrap import Interval
from layoutray.report.png import png


def test_means_seeds_and_the_prediction_are_drawn() -> None:
    points = {5: Interval(0.5, 0.4, 0.6), 20: Interval(0.7, 0.65, 0.75)}
    seeds = {5: [0.4, 0.6], 20: [0.7, 0.7]}
    figure = learning_curve(points, seeds, {40: Interval(0.76, 0.7, 0.8)}, "field_f1")
    (axes,) = figure.axes
    mean, every, predicted, *_ = axes.lines
    assert (list(mean.get_xdata()), list(mean.get_ydata())) == ([5, 20], [0.5, 0.7])
    assert [*zip(every.get_xdata(), every.get_ydata(), strict=True)] == [(5, 0.4), (5, 0.6), (20, 0.7), (20, 0.7)]
    assert (list(predicted.get_xdata()), list(predicted.get_ydata())) == ([40], [0.76])
    corners = np.vstack([path.vertices for path in axes.collections[0].get_paths()])
    assert {(5, 0.4), (5, 0.6), (20, 0.65), (20, 0.75)} <= {(float(x), float(y)) for x, y in corners}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["5", "20"]
    assert not axes.get_xticklabels(minor=True), "labels of other numbers would overlap"
    assert png(figure).startswith(b"\x89PNG")


def test_every_value_is_a_point_and_the_best_is_in_the_legend() -> None:
    figure = metric_by_value([(128, 0.5), (256, 0.75), (512, 0.625)], 256, "model.top_k", "dev.area_f1")
    (axes,) = figure.axes
    curve, best = axes.lines
    assert list(curve.get_ydata()) == [0.5, 0.75, 0.625]
    assert (list(best.get_xdata()), list(best.get_ydata()), best.get_label()) == ([1], [0.75], "best: 256  (0.75)")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["128", "256", "512"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("model.top_k", "dev.area_f1")
    assert png(figure).startswith(b"\x89PNG")
