"""The type of a document field. A field schema maps each field name to a `FieldType`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldType:
    """The type of one field. docs/fields.md explains the keys of recipes, which are all but the following.

    Attributes:
        known_values: the content of `known`, which is read when a recipe is read (see `layoutray.tasks.known_values`).
        second_look: intercept and weights of `layoutray.document.second_look`, fitted by `layoutray calibrate`; empty
            for none.
        labelled_values: normal forms of the values that labelled documents have, for a second look.
        accept_from: confidence from which an answer is accepted without a look, chosen by `layoutray calibrate`; None
            accepts no answer.
    """

    type: Literal["text", "name", "address", "date", "amount", "term", "mark", "signature"] = "text"
    many: bool = False
    min_score: float = 0.0
    required: bool = False
    month_first: bool = False
    is_sum: bool = False
    upper_case: bool = False
    known: str = ""
    known_values: tuple[str, ...] = ()
    description: str = ""
    form_fields: tuple[str, ...] = ()
    second_look: tuple[float, ...] = ()
    labelled_values: tuple[str, ...] = ()
    accept_from: float | None = None

    def accepts(self, confidence: float) -> bool:
        """Whether an answer of this confidence needs no look."""
        return self.accept_from is not None and confidence >= self.accept_from
