"""No text of a document makes a regular expression or a normal form take more than about linear time."""

import importlib
import inspect
import itertools
import pkgutil
import re
import time
from collections.abc import Callable, Iterator

import pytest

import layoutray
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.signals import plain_words
from layoutray.evaluation import leakage
from layoutray.tasks.field_names import name_words

PACKAGES = [
    "document",
    "evaluation",
    "formats",
    "metrics",
    "ocr",
    "prepare",
    "readers",
    "review",
    "serving",
    "store",
    "tasks",
]
"""Those that see texts of documents, of labels or of requests."""
BOUNDED = {
    "layoutray.document.normal_form": "normal_form bounds the length of its text",
    "layoutray.readers.datasets.cord": "the category is a label of the data set CORD",
}
"""Modules whose expressions may take longer, with what bounds their texts."""
CHARACTERS = "a1 .,-'/(A<=\"_:&\nS%’́"
WORDS = ("one ", "day", "inc ", "L.", "19", "word-", "<!--", "<a ", "mar", "12", "111,", "1’111", "a/b", "a&a", "ivx")
ENDS = (("", ""), ("1", "!x"))
SHORT, LONG = 400, 1600
FAST_S = 0.0004
"""A linear expression takes less for SHORT characters; only a text above it is looked at again."""
GROWTH = 2 * LONG / SHORT
"""Most times that LONG may take as long as SHORT. A quadratic one takes 16 times as long."""


def expressions() -> Iterator[tuple[str, Callable[[str], object]]]:
    """How each expression of a module is used, from the source of the module."""
    for package in PACKAGES:
        found = importlib.import_module(f"{layoutray.__name__}.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            if module.name not in BOUNDED and not module.name.endswith((".postgresql", ".child")):
                yield from uses(importlib.import_module(module.name))


def uses(module: object) -> Iterator[tuple[str, Callable[[str], object]]]:
    source = inspect.getsource(module)  # pyright: ignore[reportArgumentType]
    for name, value in vars(module).items():
        patterns = [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, re.Pattern)]
        methods = set(re.findall(rf"\b{name}\.(fullmatch|match|search|sub|split|find\w+)", source)) or {"findall"}
        for number, method in itertools.product(range(len(patterns)), sorted(methods)):
            if isinstance(patterns[number].pattern, str):
                call = getattr(patterns[number], method)
                run = (lambda text, call=call: call("", text)) if method == "sub" else call
                yield f"{module.__name__}.{name}[{number}].{method}", run  # pyright: ignore[reportAttributeAccessIssue]


def functions() -> Iterator[tuple[str, Callable[[str], object]]]:
    for kind in ("text", "name", "address", "date", "amount", "term"):
        field = FieldType(type=kind)
        yield f"normal_form {kind}", lambda text, field=field: normal_form(text, field)
    yield "name_words", name_words
    yield "leakage", lambda text: (leakage._text([text]), plain_words([text]))


def parts() -> Iterator[tuple[str, str, str]]:
    """What texts repeat, one part or two, and how they begin and end."""
    single = (*CHARACTERS, *WORDS)
    for unit in (*single, *map("".join, itertools.product(single, repeat=2))):
        for begin, end in ENDS:
            yield begin, unit, end


def repeated(size: int, begin: str, unit: str, end: str) -> str:
    return begin + unit * (size // len(unit)) + end


def seconds(run: Callable[[str], object], text: str, tries: int = 1) -> float:
    taken: list[float] = []
    for _ in range(tries):
        began = time.process_time()
        run(text)
        taken.append(time.process_time() - began)
    return min(taken)


def slow_texts(run: Callable[[str], object]) -> list[str]:
    """Texts whose time grows faster than their length."""
    found: list[str] = []
    for of_text in parts():
        short = repeated(SHORT, *of_text)
        if seconds(run, short) < FAST_S or (before := seconds(run, short, 3)) < FAST_S:
            continue
        if seconds(run, repeated(LONG, *of_text), 2) > GROWTH * before:
            found.append(short[:20])
    return found[:3]


@pytest.mark.parametrize(("name", "run"), [pytest.param(*one, id=one[0]) for one in functions()])
def test_a_function_over_texts_takes_about_linear_time(name: str, run: Callable[[str], object]) -> None:
    assert slow_texts(run) == []


def test_every_expression_takes_about_linear_time() -> None:
    found = dict(expressions())
    assert len(found) > 40
    assert {name: texts for name, run in found.items() if (texts := slow_texts(run))} == {}


def test_a_text_that_is_too_long_has_no_form_at_once() -> None:
    for kind, unit in itertools.product(("text", "name", "address", "date", "amount", "term"), ("a", "1", "̖́")):
        assert seconds(lambda text, kind=kind: normal_form(text, FieldType(type=kind)), unit * 100_000) < 0.1
