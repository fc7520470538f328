"""OCR engines. An engine is a module here that defines `ENGINE`; its settings are the section `[recognition.NAME]`."""

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from layoutray import registry
from layoutray.document import Word


class Engine(Protocol):
    """An OCR engine. An instance holds native state: use one per process, from one thread.

    A module of this package imports its native libraries on first use, so that recipes can be read without them.
    """

    name: str
    settings: type[Any]
    """Frozen dataclass of the engine's settings, with a default for each; its preprocessing is among them."""
    well_read: float
    """Mean confidence of a page's letters, 0..1, that the engine does not reach on a page that is turned."""
    least_confidence: float
    """Words with a lower confidence, 0..1, are left out: most of them are no text."""

    def version(self, settings: Any) -> str:
        """Version of the engine and hashes of the models that `settings` select, e.g. `5.5.4 eng:9c3f…`.

        Raises:
            MissingDependencyError: when the engine or one of its models is not installed; says how to install it.
        """
        ...

    def recognise(self, picture: NDArray[np.uint8], settings: Any, max_pixels: int) -> tuple[Word, ...]:
        """Words of a grey (height, width) or RGB (height, width, 3) picture in reading order.

        Boxes are relative to the picture, whatever preprocessing did to it.

        Args:
            max_pixels: a picture that preprocessing makes larger has at most so many pixels.

        Raises:
            DocumentError: (engine_error, stage `ocr`) when the engine rejects the picture.
            MissingDependencyError: as `version`.
        """
        ...


def load(name: str) -> Engine:
    """The engine called `name`."""
    return cast(Engine, registry.load(__name__, "ENGINE", name))
