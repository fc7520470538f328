"""From the bytes of a picture or PDF to words with boxes. An engine is a module here that ends in `ENGINE`."""

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from layoutray import registry
from layoutray.document import Word
from layoutray.ocr.settings import TesseractSettings


class Engine(Protocol):
    """An OCR engine. Instances hold native state: one per process, one thread, no sharing."""

    name: str

    def version(self, settings: TesseractSettings) -> str:
        """Engine version and a hash of the language data that `settings` select, e.g. `5.5.4 eng:9c3f…`."""
        ...

    def recognise(self, image: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
        """Words of a grey picture (height, width), boxes in shares of that picture, in the engine's reading order.

        Raises:
            DocumentError: (engine_error, stage `ocr`) when the engine refuses the picture.
            MissingDependencyError: when the engine or its language data is not installed; says how to.
        """
        ...


def load(name: str) -> Engine:
    """The engine called `name`."""
    return cast(Engine, registry.load(__name__, "ENGINE", name))
