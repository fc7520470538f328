"""Recognition: words with boxes from a picture or PDF. An OCR engine is a module here that defines `ENGINE`."""

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from layoutray import registry
from layoutray.document import Word
from layoutray.ocr.settings import TesseractSettings


class Engine(Protocol):
    """An OCR engine. An instance holds native state: use one per process, from one thread."""

    name: str

    def version(self, settings: TesseractSettings) -> str:
        """Engine version and hash of the language data that `settings` select, e.g. `5.5.4 eng:9c3f…`."""
        ...

    def recognise(self, image: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
        """Words of a grey picture (height, width) in the engine's reading order; boxes relative to the picture.

        Raises:
            DocumentError: (engine_error, stage `ocr`) when the engine rejects the picture.
            MissingDependencyError: when the engine or its language data is not installed; says how to install it.
        """
        ...


def load(name: str) -> Engine:
    """The engine called `name`."""
    return cast(Engine, registry.load(__name__, "ENGINE", name))
