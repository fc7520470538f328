"""What kind of value a field of a document has: the user's schema is one of these by each field's name."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FieldType:
    """What to expect of a field.

    Attributes:
        type: `text` (numbers of invoices and the like), `name`, `address`, `date`, `amount` (any number) or `term` (a length of time).
        many: whether a document may have several values; else the best one is the answer.
        min_score: values whose score, the sum of their confidences over the document, is below this are no answers.
        month_first: of dates in digits that could be read either way, such as 3/4/2021, whether the month comes first.
    """

    type: Literal["text", "name", "address", "date", "amount", "term"] = "text"
    many: bool = False
    min_score: float = 0.0
    month_first: bool = False
