"""How soon changed documents are noticed, and how often there is a false alarm.

The start answers the fields of SROIE. Documents are in the order of their ids; the first ones of each data set, on
which the bets were chosen, are left out. A stream has documents like the reference, then a change. No receipt is in a
stream both before and after its change.
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from layoutray import checkpoint, devices, start
from layoutray.cli.shared import terminal
from layoutray.document.field_type import FieldType
from layoutray.document.signals import Observed, Reference
from layoutray.inference.by_name import named
from layoutray.inference.extractor import Extractor
from layoutray.metrics.drift import FALSE_ALARM_EVERY, DriftTest
from layoutray.review.drift import DriftMonitor
from layoutray.store.data_set import DataSet

FIELDS = {
    "company": FieldType(type="name"),
    "date": FieldType(type="date"),
    "address": FieldType(type="address"),
    "total": FieldType(type="amount"),
}
_BEFORE, _AFTER = 30, 300
"""Documents of a stream before the change, and at most after it."""
_Documents = Sequence[Observed]
_Change = Callable[[Observed], Observed | None]
_Stream = tuple[_Documents, _Documents | _Change, float, int]
"""Usual documents; changed ones, or how a usual one is changed, None if it cannot be; share of the changed ones; number
of documents of the reference."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks drift", description=__doc__)
    parser.add_argument("sroie", help="pages of SROIE with annotated words")
    parser.add_argument("wildreceipt", help="pages of WildReceipt with annotated words")
    parser.add_argument("own_words", nargs="+", help="pages of SROIE that OCR has read")
    parser.add_argument("--former", nargs="*", default=[], help="pages of SROIE that another version of OCR has read")
    parser.add_argument(
        "--scaled", nargs="*", default=[], help="pages of SROIE in another resolution that OCR has read; a change each"
    )
    parser.add_argument("--left-out", type=int, nargs=2, default=[210, 150], help="documents of SROIE and WildReceipt")
    parser.add_argument("--reference", type=int, default=250, help="documents of the reference")
    parser.add_argument("--reference-of-ocr", type=int, default=200, help="the same, where all words are those of OCR")
    parser.add_argument("--vendors", type=int, default=3, help="vendors with most receipts, each as a change")
    parser.add_argument("--rounds", type=int, default=40, help="orders of the documents")
    parser.add_argument("--long", type=int, default=10, help="resampled streams of 10,000 documents")
    parser.add_argument("--simulated", type=int, default=60, help="streams of 5,000 documents with normal signals")
    options = parser.parse_args(arguments)
    extractor = Extractor(named(checkpoint.load(start.FOLDER), FIELDS), "start", devices.CPU)
    usual = _answered([options.sroie], extractor, options.left_out[0])
    every = [*usual.values()]
    changes = _changes(options, extractor, usual)
    rng, normal, report = np.random.default_rng(1), np.random.default_rng(5), dict[str, Any]()
    for name, (before, after, share, count) in changes.items():
        own_rng = np.random.default_rng([1, *name.encode()])  # so that no change depends on which others are measured
        found = [_delay(before, after, share, count, own_rng) for _ in range(options.rounds)]
        report[name] = _delays([delay for delay, _ in found], [signal for _, signal in found])
    shuffled = [_watched(_order(every, rng), options.reference, None) for _ in range(options.rounds)]
    drawn = [_watched(every, options.reference, rng) for _ in range(options.long)]
    simulated = {
        f"simulated, reference {count}": [_simulated(count, normal) for _ in range(options.simulated)]
        for count in (30, 100, 250)
    }
    for name, runs in {"shuffled": shuffled, "resampled": drawn, **simulated}.items():
        report[name] = {"alarms": sum(alarm for _, alarm in runs), "documents": sum(count for count, _ in runs)}
    rows = [(name, *(f"{value}" for value in one.values())) for name, one in report.items() if "median" in one]
    columns = ("change", "noticed", "median", "95 %", "worst", "within 150", "false", "first signals")
    terminal.show_table(f"Documents until the alarm; {len(every)} are usual", columns, rows)
    sys.stdout.write(json.dumps(report | {"documents": len(every)}) + "\n")
    return 0


def _changes(options: argparse.Namespace, extractor: Extractor, usual: Mapping[str, Observed]) -> dict[str, _Stream]:
    """The streams of each change, by its name."""
    other = [*_answered([options.wildreceipt], extractor, options.left_out[1]).values()]
    own, former = (
        {name: one for name, one in _answered(folders, extractor, 0).items() if name in usual}
        for folders in (options.own_words, options.former)
    )
    every, read = [*usual.values()], {id(usual[name]): one for name, one in own.items()}
    size, small = options.reference, options.reference_of_ocr
    changes: dict[str, _Stream] = {
        "10 % WildReceipt": (every, other, 0.1, size),
        "5 % WildReceipt": (every, other, 0.05, size),
        "words of OCR instead of annotators": (every, lambda one: read.get(id(one)), 1.0, size),
        "the same, if nothing said so": (every, lambda one: _unsaid(one, read.get(id(one))), 1.0, size),
        "size of the pictures times 1.5": (every, _larger, 1.0, size),
        "10 % size of the pictures times 1.5": (every, _larger, 0.1, size),
    }
    if former:
        newer = {id(one): own[name] for name, one in former.items() if name in own}
        before = [*former.values()]
        changes["another version of OCR"] = (before, lambda one: newer.get(id(one)), 1.0, small)
        changes["the same version, if nothing said so"] = (
            before,
            lambda one: _unsaid(one, newer.get(id(one))),
            1.0,
            small,
        )
    for folder in options.scaled:
        scaled = _answered([folder], extractor, 0)
        before = [one for name, one in own.items() if name not in scaled]
        changes[f"resolution of {_name(folder)}"] = (before, [*scaled.values()], 1.0, small)
    for number, (vendor, share) in enumerate(_vendors(options.sroie, usual, options.vendors), 1):
        for part in (0.1, 0.3):
            of_others = [one for name, one in usual.items() if name not in vendor]
            of_vendor = [usual[name] for name in vendor]
            changes[f"{part:.0%} new vendor {number} ({share})"] = (of_others, of_vendor, part, size)
    return changes


def _answered(folders: Sequence[str], extractor: Extractor, left_out: int) -> dict[str, Observed]:
    """What the documents show, by the name of their file."""
    pages = sorted((page for folder in folders for page in DataSet(folder).read_pages()), key=lambda page: page.doc_id)
    return {
        _name(page.source): Observed.of([page], [(one.name, one.confidence) for one in extractor.answer_fields([page])])
        for page in pages[left_out:]
    }


def _name(source: str) -> str:
    """The name of a file without its suffix; of a document in a list of a file, with its number."""
    return re.sub(r"\.\w+$", "", source.rpartition("/")[2])


def _vendors(folder: str, usual: Collection[str], count: int) -> list[tuple[list[str], int]]:
    """The receipts of each of the vendors with most of them, and how many these are."""
    names: dict[str, list[str]] = defaultdict(list)
    for one in DataSet(folder).read_documents():
        if (name := _name(one.source)) in usual:
            for field in one.fields:
                if field.name == "company":
                    names[field.value].append(name)
    return sorted(((of_one, len(of_one)) for of_one in names.values()), key=lambda one: -one[1])[:count]


def _order(documents: _Documents, rng: np.random.Generator) -> list[Observed]:
    return [documents[number] for number in rng.permutation(len(documents))]


def _delay(
    usual: _Documents, changed: _Documents | _Change, share: float, reference: int, rng: np.random.Generator
) -> tuple[float, str]:
    """Documents from the change to the alarm, less than 1 before the change, infinite for none; and the signal."""
    ordered = _order(usual, rng)
    monitor = DriftMonitor(Reference.of(ordered[:reference]))
    rest = iter(ordered[reference:])
    if callable(changed):
        kept = [*rest]
        rest = iter(kept[:_BEFORE] + [one for one in kept[_BEFORE:] if changed(one)])
    others = iter(()) if callable(changed) else iter(_order(changed, rng))
    for number in range(-_BEFORE, _AFTER):
        is_changed = number >= 0 and rng.random() < share
        following = next(others if is_changed and not callable(changed) else rest, None)
        if is_changed and callable(changed):
            following = following and changed(following)
        if following is None:
            break
        monitor.add(following)
        if monitor.test.evidence >= FALSE_ALARM_EVERY:
            evidence = monitor.test.evidence_of()
            return number + 1, max(evidence, key=lambda name: evidence[name])
    return np.inf, ""


def _unsaid(document: Observed, read: Observed | None) -> Observed | None:
    """What OCR has read, with the word source of the annotation."""
    return read and replace(read, source=document.source)


def _larger(document: Observed) -> Observed:
    return replace(document, numbers={**document.numbers, "page pixels": document.numbers["page pixels"] * 1.5**2})


def _delays(found: Sequence[float], signals: Sequence[str]) -> dict[str, Any]:
    delays = np.array([one for one in found if one > 0])
    median, most, worst = (float(np.quantile(delays, share, method="higher")) for share in (0.5, 0.95, 1))
    return {
        "noticed": int(np.isfinite(delays).sum()),
        "median": median,
        "95 %": most,
        "worst": worst,
        "within 150": int((delays <= 150).sum()),
        "false": len(found) - len(delays),
        "first signals": dict(Counter(filter(None, signals)).most_common(3)),
    }


def _watched(documents: _Documents, reference: int, rng: np.random.Generator | None) -> tuple[int, bool]:
    """How many documents are watched up to an alarm or the end, and whether there is one.

    Args:
        rng: draws reference and 10,000 documents with replacement; None takes all in their order, each once.
    """
    stream = documents
    if rng is not None:
        stream = [documents[number] for number in rng.integers(0, len(documents), reference + 10_000)]
    monitor = DriftMonitor(Reference.of(stream[:reference]))
    for count, one in enumerate(stream[reference:], 1):
        monitor.add(one)
        if monitor.test.evidence >= FALSE_ALARM_EVERY:
            return count, True
    return len(stream) - reference, False


def _simulated(reference: int, rng: np.random.Generator) -> tuple[int, bool]:
    """As `_watched`, of 5,000 documents with 14 independent normal signals, of which 2 are upward."""
    names = [*map(str, range(14))]
    test = DriftTest(dict(zip(names, rng.normal(size=(14, reference)).tolist(), strict=True)), names[:2])
    for count, values in enumerate(rng.normal(size=(5000, 14)).tolist(), 1):
        test.add(dict(zip(names, values, strict=True)))
        if test.evidence >= FALSE_ALARM_EVERY:
            return count, True
    return 5000, False
