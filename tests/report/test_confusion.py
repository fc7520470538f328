"""The confusion matrix shows every count in its row and column."""

import numpy as np

from layoutray.report.confusion import confusion
from layoutray.report.png import png

COUNTS = {("date", "date"): 3, ("date", "O"): 1, ("O", "total"): 1234, ("total", "total"): 2}


def test_rows_are_true_types_and_columns_are_predicted_types() -> None:
    axes = confusion(COUNTS, ["date", "total"]).axes[0]
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written == {(0, 0): "3", (2, 0): "1", (1, 1): "2", (1, 2): "1,234"}
    assert [label.get_text() for label in axes.get_xticklabels()] == ["date", "total", "O"]


def test_shades_are_shares_of_each_true_type() -> None:
    shares = confusion(COUNTS, ["O", "date", "total"]).axes[0].images[0].get_array()
    assert shares is not None
    assert np.allclose(shares, [[0.75, 0, 0.25], [0, 1, 0], [0, 1, 0]])


def test_no_words_and_many_types_make_a_picture() -> None:
    assert png(confusion({}, [])).startswith(b"\x89PNG")
    assert png(confusion({("t1", "t2"): 5}, [f"t{index}" for index in range(30)])).startswith(b"\x89PNG")
