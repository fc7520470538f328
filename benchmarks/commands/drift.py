"""How soon changed documents are noticed, and how often there is a false alarm.

The start answers the fields of SROIE. Documents are in the order of their ids; the first ones of each data set, on
which the bets were chosen, are left out. A stream has documents like the reference, then a change.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
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


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks drift", description=__doc__)
    parser.add_argument("sroie", help="pages of SROIE with annotated words")
    parser.add_argument("wildreceipt", help="pages of WildReceipt with annotated words")
    parser.add_argument("own_words", help="pages of SROIE that OCR has read")
    parser.add_argument("--left-out", type=int, nargs=2, default=[210, 150], help="documents of SROIE and WildReceipt")
    parser.add_argument("--reference", type=int, default=250, help="documents of the reference")
    parser.add_argument("--rounds", type=int, default=40, help="orders of the documents")
    parser.add_argument("--long", type=int, default=10, help="resampled streams of 10,000 documents")
    parser.add_argument("--simulated", type=int, default=60, help="streams of 5,000 documents with normal signals")
    options = parser.parse_args(arguments)
    extractor = Extractor(named(checkpoint.load(start.FOLDER), FIELDS), "start", devices.CPU)
    usual = _answered(options.sroie, extractor, options.left_out[0])
    other = [*_answered(options.wildreceipt, extractor, options.left_out[1]).values()]
    own = {doc_id: one for doc_id, one in _answered(options.own_words, extractor, 0).items() if doc_id in usual}
    truth = {one.doc_id: one.fields for one in DataSet(options.sroie).read_documents()}
    company = {doc_id: next((one.value for one in truth[doc_id] if one.name == "company"), "") for doc_id in usual}
    vendor, _ = Counter(filter(None, company.values())).most_common(1)[0]
    of_vendor = [one for doc_id, one in usual.items() if company[doc_id] == vendor]
    of_others = [one for doc_id, one in usual.items() if company[doc_id] != vendor]
    every, read = [*usual.values()], {id(usual[doc_id]): one for doc_id, one in own.items()}
    # (usual documents; changed ones, or how a usual one is changed, None if it cannot be; share of the changed ones)
    changes: dict[str, tuple[_Documents, _Documents | _Change, float]] = {
        "10 % WildReceipt": (every, other, 0.1),
        "5 % WildReceipt": (every, other, 0.05),
        "words of OCR instead of annotators": (every, lambda one: read.get(id(one)), 1.0),
        "the same, if nothing said so": (every, lambda one: _unsaid(one, read.get(id(one))), 1.0),
        "resolution times 1.5": (every, _larger, 1.0),
        "10 % resolution times 1.5": (every, _larger, 0.1),
        "10 % one new vendor": (of_others, of_vendor, 0.1),
        "30 % one new vendor": (of_others, of_vendor, 0.3),
    }
    rng, normal, report = np.random.default_rng(1), np.random.default_rng(5), dict[str, Any]()
    for name, (before, after, share) in changes.items():
        found = [_delay(before, after, share, options.reference, rng) for _ in range(options.rounds)]
        report[name] = _delays([delay for delay, _ in found], [signal for _, signal in found])
    shuffled = [_watched(_order(every, rng), options.reference, None) for _ in range(options.rounds)]
    drawn = [_watched(every, options.reference, rng) for _ in range(options.long)]
    simulated = {
        f"simulated, reference {count}": [_simulated(count, normal) for _ in range(options.simulated)]
        for count in (30, 100, 250)
    }
    for name, runs in {"shuffled": shuffled, "resampled": drawn, **simulated}.items():
        report[name] = {"alarms": sum(alarm for _, alarm in runs), "documents": sum(count for count, _ in runs)}
    counts = {"usual": len(every), "vendor": len(of_vendor), "WildReceipt": len(other), "own words": len(own)}
    rows = [(name, *(f"{value}" for value in one.values())) for name, one in report.items() if "median" in one]
    columns = ("change", "noticed", "median", "95 %", "worst", "within 150", "false", "first signals")
    terminal.show_table(f"Documents until the alarm; {counts}", columns, rows)
    sys.stdout.write(json.dumps(report | {"documents": counts}) + "\n")
    return 0


def _answered(folder: str, extractor: Extractor, left_out: int) -> dict[str, Observed]:
    pages = sorted(DataSet(folder).read_pages(), key=lambda page: page.doc_id)[left_out:]
    return {
        page.doc_id: Observed.of([page], [(one.name, one.confidence) for one in extractor.answer_fields([page])])
        for page in pages
    }


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
