"""Normal forms of field values: equal values get equal text.

* date: ISO 8601, `2021-03-04`
* amount: plain decimal number with a point
* term: count and unit, `3 years`
* mark: `on` or `off`
* text: upper case, no commas, single spaces
* name: as text; `&` becomes AND; INC., CO., CORP., LTD., JR., SR. end with a point; LLC, LP have none; no surrounding
  punctuation
* address: upper case, no punctuation
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from dateutil import parser

from layoutray.document.field_type import FieldType
from layoutray.document.page import SIGNED, UNSIGNED, Field

MONTHS = (
    "Jan January janv janvier Januar januari gennaio enero stycznia janeiro Ocak",
    "Feb February fév févr février Februar februari febbraio febrero lutego fevereiro Şubat",
    "Mar March mars März maart mrt marzo marca março Mart",
    "Apr April avr avril aprile abril kwietnia Nisan",
    "May mai mei maggio mayo maja maio Mayıs mayis",
    "Jun June juin Juni giugno junio czerwca junho Haziran",
    "Jul July juil juillet juli luglio julio lipca julho Temmuz",
    "Aug August août augustus agosto sierpnia Ağustos",
    "Sep Sept September septembre settembre septiembre września setembro Eylül",
    "Oct October octobre Okt Oktober ottobre octubre października outubro Ekim",
    "Nov November novembre noviembre listopada novembro Kasım kasim",
    "Dec December déc décembre Dez Dezember dicembre diciembre grudnia dezembro Aralık aralik",
)
"""Names of each month in English, French, German, Dutch, Italian, Spanish, Polish, Portuguese and Turkish."""
_ONES = "zero one two three four five six seven eight nine ten eleven twelve"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {word: number for number, word in enumerate(f"{_ONES} {_TEENS}".split())} | {
    word: 10 * number for number, word in enumerate(_TENS.split(), start=2)
}
"""Values of number words in terms."""

_MARKS = " .;:\"'“”‘’"
_ABBREVIATION = re.compile(r"\b(INC|CO|CORP|LTD|JR|SR)$")
_PARTNERSHIP = re.compile(r"\bL\.(L?)\.?(C|P)$")
_LONGEST = 4000
"""Characters of a text that may be a value. Some expressions below, and Unicode's normal form, take more than linear
time."""
_LONGEST_OF = {"date": 60, "amount": 200, "term": 200, "mark": 20, "signature": 20}
"""Characters of a value by the type of its field."""
_LETTER_BY_DIGIT = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_CUT_YEAR = re.compile(r"\d{1,2}(\D+)\d{1,2}\1(\d|\d{3})")
"""A date in digits that lost some of its year, because OCR did not read them."""
_EIGHT_DIGITS = re.compile(r"\b(\d\d)(\d\d)((?:19|20)\d\d)\b")
_TERM = re.compile(r"(\d+|[a-z]+(?:[\s-][a-z]+)?)[\s)]*[\s-]*(day|week|month|year)s?\W*", re.I)
_COUNT_IN_BRACKETS = re.compile(r"[a-z]+(?:[\s-][a-z]+)?\s*\(\s*(\d+)\s*\)", re.I)
_ON = re.compile(r"[(\[]?\s*(?:[☑☒✓✔✗✘x]|on)\s*[)\]]?", re.I)
_OFF = re.compile(r"[☐□]|off|\(\s*\)|\[\s*\]", re.I)
_AMOUNT = re.compile(r"(?P<before>[^\d]*?)(?P<number>\d(?:[\d.,'’\s]*\d)?)(?P<after>[^\d]*)")


class _Words(parser.parserinfo):
    # The annotation allows two or three names a month; the code accepts any number.
    MONTHS = [tuple(names.split()) for names in MONTHS]  # noqa: RUF012  # pyright: ignore[reportAssignmentType]
    JUMP = [*parser.parserinfo.JUMP, "day", "this", "the", "de", "le", "den", ":", "(", ")", "’", "´"]  # noqa: RUF012


_WORDS = _Words()


def normal_form(text: str, field: FieldType) -> str | None:
    """The normal form of the text of a value; None when it is not a value of the field's type, or too long for one."""
    if len(text) > _LONGEST or len(one := plain(text)) > _LONGEST_OF.get(field.type, _LONGEST):
        return None
    return _FORMS[field.type](one, field) or None


def value_in_answers(text: str, field: FieldType) -> str | None:
    """The normal form, but an amount that is printed with two decimals keeps both: `86.00`, whose form is `86`."""
    form = normal_form(text, field)
    if form is None or field.type != "amount":
        return form
    printed = _decimal(plain(text)) or ""
    return printed if len(printed.partition(".")[2]) == 2 else form


def plain(text: str) -> str:
    """The text with one form of each letter, and with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _text(text: str, field: FieldType) -> str:
    return " ".join(text.upper().replace(",", "").split())


def _name(text: str, field: FieldType) -> str:
    text = _text(text.replace("&", " and "), field)
    # Remove punctuation of the surrounding sentence, and unmatched or enclosing brackets.
    text = text.strip(_MARKS)
    if text.count("(") != text.count(")") or text[:1] + text[-1:] == "()":
        text = text.strip(_MARKS + "()")
    return _ABBREVIATION.sub(r"\1.", _PARTNERSHIP.sub(r"L\1\2", text))


def _address(text: str, field: FieldType) -> str:
    return " ".join(re.findall(r"\w+", text.upper()))


def _date(text: str, field: FieldType) -> str | None:
    """The date in `text`; None when a part is missing.

    dateutil fills missing parts from a default date. The date is complete when two defaults give the same result.
    """
    # OCR loses spaces, and some receipts print dates without separators.
    text = _EIGHT_DIGITS.sub(r"\1/\2/\3", _LETTER_BY_DIGIT.sub(" ", text.replace(",", " ")))
    # A date that starts with the year has the month in the middle in every locale.
    year_first = re.match(r"\D*(19|20)\d\d(\D|\d{4}$)", text) is not None
    if _CUT_YEAR.fullmatch(text):
        return None
    dates: set[str] = set()
    for default in (datetime(2001, 1, 1), datetime(2002, 2, 2)):
        try:
            parsed = parser.parse(
                text,
                _WORDS,
                default=default,
                dayfirst=not (field.month_first or year_first),
                yearfirst=year_first,
                ignoretz=True,
            )
        except (parser.ParserError, ArithmeticError):
            return None
        dates.add(parsed.date().isoformat())
    return dates.pop() if len(dates) == 1 else None


def _amount(text: str, field: FieldType) -> str | None:
    number = _decimal(text)
    if number is None or "." not in number:
        return number
    shortest = number.rstrip("0").rstrip(".")
    # Exactly three decimals would be read as a group of thousands, so a fourth one stays.
    return shortest if _decimal(shortest) == shortest else f"{shortest}0"


def _decimal(text: str) -> str | None:
    """The number in `text`, with or without a currency. A minus sign or brackets make it negative."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    amount = Decimal(_with_point(re.sub(r"[\s'’]", "", match["number"])))
    before, after = match["before"].rstrip(), match["after"].lstrip()
    negative = "-" in before or after.startswith("-") or (before.endswith("(") and after.startswith(")"))
    return f"{-amount if negative else amount:f}"


def _with_point(number: str) -> str:
    """`number` with a decimal point and no other separator.

    A single separator before exactly three final digits groups thousands, unless only zeros come before it.
    """
    last = max(number.rfind("."), number.rfind(","))
    separator = number[last] if last >= 0 else ""
    single_kind = last >= 0 and len(set(number) & {".", ","}) == 1
    groups = single_kind and (number.count(separator) > 1 or (len(number) - last == 4 and number[:last].strip("0")))
    if last < 0 or groups:
        return re.sub("[.,]", "", number)
    return re.sub("[.,]", "", number[:last]) + "." + number[last + 1 :]


def _term(text: str, field: FieldType) -> str | None:
    match = _TERM.fullmatch(_COUNT_IN_BRACKETS.sub(r"\1", text))
    count = match and _count(match[1])
    return f"{count} {match[2].lower()}{'s' * (count != 1)}" if match and count else None


def _mark(text: str, field: FieldType) -> str | None:
    return "on" if _ON.fullmatch(text) else "off" if _OFF.fullmatch(text) else None


def _signature(text: str, field: FieldType) -> str | None:
    return {SIGNED: "signed", "signed": "signed", UNSIGNED: "unsigned"}.get(text.lower())


def _count(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    parts = [NUMBERS.get(part) for part in re.split(r"[\s-]", text.lower())]
    if len(parts) == 2 and parts[0] is not None and parts[1] is not None and parts[0] >= 20 and parts[1] < 10:
        return parts[0] + parts[1]
    # With two words the first may be any word, e.g. `of three years`.
    return parts[-1]


_FORMS: dict[str, Callable[[str, FieldType], str | None]] = {
    "text": _text,
    "name": _name,
    "address": _address,
    "date": _date,
    "amount": _amount,
    "term": _term,
    "mark": _mark,
    "signature": _signature,
}


def contradictory(fields: Iterable[Field], schema: Mapping[str, FieldType]) -> tuple[Field, ...]:
    """The values of fields without `many` that have several values with different normal forms.

    Values of records are not compared. Values of fields that are not in `schema` are ignored.
    """
    forms: dict[str, dict[Field, str]] = defaultdict(dict)
    for field in fields:
        if field.row is None and field.name in schema and not schema[field.name].many:
            forms[field.name][field] = normal_form(field.value, schema[field.name]) or field.value
    return tuple(field for of_field in forms.values() if len({*of_field.values()}) > 1 for field in of_field)
