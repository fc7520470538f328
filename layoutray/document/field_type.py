"""The type of a document field. A field schema maps each field name to a `FieldType`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldType:
    """The type of one field.

    Attributes:
        type: `text` (e.g. an invoice number), `name`, `address`, `date`, `amount` (any number), `term` (a duration),
            `mark` (a check box or radio button, whose values are `on` and `off`) or `signature` (`signed` and
            `unsigned`).
        many: whether a document may have several values; if false, the answer is the value with the highest score.
        min_score: score threshold; values with a lower score are not answered. The score of a value is the sum of the
            confidences of its occurrences in the document.
        required: whether each document has a value. If a page states none with certainty, its most probable value is an
            answer too, with the low confidence that it has.
        month_first: whether an ambiguous date in digits, e.g. 3/4/2021, starts with the month.
        is_sum: whether the value is normally the sum of the rows above it, such as a total; for `amount`. If a page
            states such sums, they are more confident answers than other amounts (see
            `layoutray.tasks.field_answers`).
        upper_case: whether the content of an answer is in upper case, whatever the page prints.
        known: file or s3:// address of a CSV file with the values that the field can have, one in each row; for `text`,
            `name` and `address`. It is read when a recipe is read (see `layoutray.tasks.known_values`).
        known_values: the content of this file. A value that is near one of them means this one.
        description: what the field is, in a few words, if its name does not say it; read by models that find fields by
            their names (see `layoutray.tasks.fields_by_name`), in place of the name. Of a mark, its label.
        form_fields: full names of the form fields of fillable PDF files that state the value (see
            `layoutray.document.form_answers`).
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
