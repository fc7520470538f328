"""Fields of fillable PDF files."""

from dataclasses import dataclass
from typing import Literal

from layoutray.document.geometry import Box

Kind = Literal["text", "choice", "check", "radio", "signature"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A form field where it stands on a page. One that stands at several places is there several times.

    Attributes:
        name: full name: those of its parents and its own, joined by points.
        value: the text; of a choice the chosen labels, one per line; of a check box or radio button what it states
            when it is on. Empty for a field that is not filled, and for a signature.
        on: whether a check box or radio button is on, and whether a signature field is signed; None for other kinds.
        drawn: the words that the page shows in the box, without those that are printed on the form itself; empty if a
            viewer hides the field. None for a visible check box, radio button or signature.
        box: relative to the page; None outside of it.
    """

    name: str
    kind: Kind
    value: str
    on: bool | None
    drawn: str | None
    box: Box | None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that it states, each in one line: the text, or each chosen label; none of a box that is off."""
        lines = self.value.splitlines() if self.kind == "choice" else [self.value]
        return tuple(" ".join(line.split()) for line in lines if self.on is not False and line.strip())
