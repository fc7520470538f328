"""What a metric would be with more training documents.

The error of a model falls by a power of the number of training documents (Hestness et al., Deep Learning Scaling is
Predictable, Empirically, arXiv:1712.00409). The power is fitted by least squares over the logarithms at all measured
sizes. The curve goes through the last measured point: its error is more certain than the fitted line. Intervals hold
the uncertainty of the measured points, not that of the assumption.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from layoutray.metrics.bootstrap import Estimate

_LEAST_ERROR = 1e-3
"""Smaller errors are taken for this one when the power is fitted: the logarithm of 0 is infinite."""


def extrapolated(measured: Mapping[int, Estimate], size: int, best: Literal["min", "max"]) -> Estimate:
    """The metric with `size` training documents.

    Args:
        measured: the metric by number of training documents, ascending; two or more.
        best: `max` if the error is 1 minus the metric, `min` if it is the metric.
    """
    sizes = np.array([*measured], np.float64)
    values = np.stack([np.append(one.resampled, one.value) for one in measured.values()])
    errors = 1 - values if best == "max" else values
    centred = np.log(sizes) - np.log(sizes).mean()
    # The slope of log(error) over log(size), for each column.
    powers = centred @ np.log(np.maximum(errors, _LEAST_ERROR)) / (centred @ centred)
    error = errors[-1] * (size / sizes[-1]) ** powers
    *resampled, value = 1 - error if best == "max" else error
    return Estimate(float(value), np.array(resampled))
