"""What OCR and model have found on a page, and pages whose outcome is known before."""

from dataclasses import dataclass

from layoutray.document import Page
from layoutray.document.answers import Candidate, Entity, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result for one page, or for the text generation over all pages.

    Attributes:
        page: the page with its words; None when it could not be read, and for text generation.
        candidates: see `Found`.
        problem: why the page failed; None when it did not.
        ocr, model, queue: seconds.
    """

    page: Page | None
    entities: tuple[Entity, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    problem: Problem | None = None
    ocr: float = 0.0
    model: float = 0.0
    queue: float = 0.0


class KnownPages:
    """Outcomes of the pages of one document that are known from an earlier attempt. Here none is known or kept."""

    async def get(self, number: int) -> Outcome | None:
        """The outcome of a page; None if it is not known."""

    async def put(self, number: int, outcome: Outcome) -> None:
        """Keep the outcome of a page, so that another attempt knows it."""
