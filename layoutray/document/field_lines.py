"""Fields as text, a line `name: value` for each, for models that write what they find.

Not every vocabulary keeps case, accents and the blanks around punctuation, so names are known by their letters and digits alone, and
values are looked for on the page without all that.
"""

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from layoutray.document.page import Field
from layoutray.errors import InputError


def render(fields: Iterable[Field]) -> str:
    """A line for each field that has a value; blanks and line breaks within values are single blanks."""
    return "\n".join(f"{field.name}: {value}" for field in fields if (value := " ".join(field.value.split())))


def parse(text: str, names: Collection[str]) -> list[Field]:
    """The fields that `text` states, in its order: of lines that are one of `names`, a colon and a value. Other lines are passed over.

    Args:
        names: as `check_names` wants them.
    """
    known = {_letters(name): name for name in names}
    parts = [
        (_letters(before), " ".join(value.split()))
        for before, _, value in (line.partition(":") for line in text.splitlines())
    ]
    return [Field(known[name], value) for name, value in parts if name in known and value]


def check_names(names: Iterable[str]) -> None:
    """Refuse names that `parse` could not read or tell apart.

    Raises:
        InputError: for a name of several lines, with a colon or without a letter or digit, or one that differs from another in
            case, accents, blanks and punctuation alone.
    """
    seen: dict[str, str] = {}
    for name in names:
        if ":" in name or not _letters(name) or name.splitlines() != [name]:
            raise InputError(
                f"a field to be written is called {name!r}; a name must be one line with a letter or digit, and no colon"
            )
        if other := seen.get(_letters(name)):
            raise InputError(
                f"fields to be written are called {other!r} and {name!r}; names must differ in their letters and digits"
            )
        seen[_letters(name)] = name


def as_it_stands(value: str, words: Sequence[str]) -> str:
    """The `words` that `value` first is, whatever case, accents and blanks, joined by blanks; `value` itself where it is none of them."""
    bare = [_bare(word) for word in words]
    ends = list(accumulate(map(len, bare), initial=0))
    # Words that are nothing but accents have no length: what is found begins behind them, or ends before them.
    begins = {place: number for number, place in enumerate(ends)}
    stops = {place: number for number, place in reversed([*enumerate(ends)])}
    whole, wanted = "".join(bare), _bare(value)
    at = whole.find(wanted) if wanted else -1
    while at >= 0:
        if at in begins and at + len(wanted) in stops:
            return " ".join(words[begins[at] : stops[at + len(wanted)]])
        at = whole.find(wanted, at + 1)
    return value


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in decomposed if not (letter.isspace() or unicodedata.combining(letter)))


def _letters(name: str) -> str:
    return "".join(letter for letter in _bare(name) if letter.isalnum())
