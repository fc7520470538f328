"""Reads the picture of a line by PP-OCR's recognition network on onnxruntime."""

from collections.abc import Collection

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.ocr.ppocr import models
from layoutray.ocr.ppocr.ctc import SPACE, Decoder, Reading

_HEIGHT = 48
"""Pixels of a line's height that the network takes."""
_STEP = 8
"""Pixels of width for each time step of the network."""
_NARROWEST = 32
_WIDEST = 3200
"""Pixels of width after scaling to `_HEIGHT`; longer lines are squeezed, so that memory stays bounded."""


class LineReader:
    """The network, loaded. Lines are read one by one: on a CPU batches are slower, because they need padding.

    Args:
        alphabet: the characters that can occur; empty: all that the network knows.
    """

    def __init__(self, alphabet: Collection[str]) -> None:
        self._session = models.session(models.RECOGNITION)
        known = self._session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._decoder = Decoder(["", *known, SPACE], alphabet)

    def read(self, line: NDArray[np.uint8]) -> Reading:
        """What a line's RGB picture (height, width, 3) says."""
        height, width = line.shape[:2]
        scaled = min(max(round(width * _HEIGHT / height / _STEP) * _STEP, _NARROWEST), _WIDEST)
        # The network was trained on BGR pictures with values from -1 to 1.
        picture = cv2.resize(line, (scaled, _HEIGHT))[:, :, ::-1].astype(np.float32) / 127.5 - 1
        (scores,) = self._session.run(None, {"x": np.ascontiguousarray(picture.transpose(2, 0, 1)[None])})
        return self._decoder.decode(np.asarray(scores)[0])
