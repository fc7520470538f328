"""Fields as text with one line `name: value` per field, for models that generate fields.

Some vocabularies lose case, accents or the spaces around punctuation. Names are therefore compared by their letters
and digits only. Values are searched on the page without case, accents and spaces.
"""

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from layoutray.document.page import Field
from layoutray.errors import InputError


def to_lines(fields: Iterable[Field]) -> str:
    """One line for each field with a value. White space inside a value becomes a single space."""
    return "\n".join(f"{field.name}: {value}" for field in fields if (value := " ".join(field.value.split())))


def parse(text: str, names: Collection[str]) -> list[Field]:
    """The fields in `text`, in order: lines with one of `names`, a colon and a value. Other lines are ignored.

    Args:
        names: names that `check_names` accepts.
    """
    known = {_letters(name): name for name in names}
    parts = [
        (_letters(before), " ".join(value.split()))
        for before, _, value in (line.partition(":") for line in text.splitlines())
    ]
    return [Field(known[name], value) for name, value in parts if name in known and value]


def check_names(names: Iterable[str]) -> None:
    """Check that `parse` can read and distinguish `names`.

    Raises:
        InputError: when a name has several lines, a colon or no letter or digit, or when two names differ only in
            case, accents, spaces and punctuation.
    """
    seen: dict[str, str] = {}
    for name in names:
        if ":" in name or not _letters(name) or name.splitlines() != [name]:
            raise InputError(
                f"the field name is {name!r}; it must be one line with at least one letter or digit and without a colon"
            )
        if other := seen.get(_letters(name)):
            raise InputError(f"the field names are {other!r} and {name!r}; they must differ in their letters or digits")
        seen[_letters(name)] = name


def page_text_of(value: str, words: Sequence[str]) -> str:
    """The first run of `words` that equals `value` except for case, accents and spaces; `value` when there is none."""
    bare = [_bare(word) for word in words]
    ends = list(accumulate(map(len, bare), initial=0))
    # A word of combining accents only has length 0 here. A match starts after it and ends before it.
    starts = {offset: index for index, offset in enumerate(ends)}
    stops = {offset: index for index, offset in reversed([*enumerate(ends)])}
    text, target = "".join(bare), _bare(value)
    at = text.find(target) if target else -1
    while at >= 0:
        if at in starts and at + len(target) in stops:
            return " ".join(words[starts[at] : stops[at + len(target)]])
        at = text.find(target, at + 1)
    return value


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in decomposed if not (letter.isspace() or unicodedata.combining(letter)))


def _letters(name: str) -> str:
    return "".join(letter for letter in _bare(name) if letter.isalnum())
