"""Each bin is a point at its confidence and accuracy."""

from layoutray.metrics.calibration import Bin
from layoutray.report.png import png
from layoutray.report.reliability import reliability


def test_bins_are_points_and_the_diagonal_is_drawn() -> None:
    figure = reliability({"words": [Bin(3, 0.5, 0.25), Bin(1, 0.875, 0.875)], "fields": [Bin(1000, 0.75, 0.7)]})
    diagonal, words, fields = figure.axes[0].lines
    assert [list(line.get_xydata().ravel()) for line in (diagonal, words, fields)] == [
        [0, 0, 1, 1],
        [0.5, 0.25, 0.875, 0.875],
        [0.75, 0.7],
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "words  (ECE 0.1875, 4 answers)",
        "fields  (ECE 0.0500, 1,000 answers)",
    ]
    assert png(figure).startswith(b"\x89PNG")


def test_empty_curves_make_a_picture() -> None:
    assert png(reliability({"fields": []})).startswith(b"\x89PNG")
