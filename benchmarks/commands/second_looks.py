"""Answers that need no look, before and after second looks, on test pages as they are and on worse copies of them.

Second looks and thresholds are fitted on the training pages, in folds. Both sides are measured in one run.
"""

import argparse
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from layoutray import checkpoint, devices
from layoutray.cli.shared import terminal
from layoutray.document import Field, Page
from layoutray.document.answers import Entity
from layoutray.evaluation.acceptance import choose_thresholds, measure_acceptance
from layoutray.evaluation.fields import AnsweredDocument, JudgedAnswer, Schema, certainties, judge, score_fields
from layoutray.evaluation.second_looks import second_looks
from layoutray.inference.extractor import Extractor
from layoutray.metrics.acceptance import Goal
from layoutray.metrics.calibration import accepted_share
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.review.promise import of_field
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.tasks.field_answers import field_answers

COPIES: Mapping[str, Any] = {
    "blur": lambda picture: _encoded(picture.filter(ImageFilter.GaussianBlur(1.5)), "PNG"),
    "jpeg": lambda picture: _encoded(picture, "JPEG", quality=20),
    "skew": lambda picture: _encoded(
        picture.rotate(2, Image.Resampling.BICUBIC, expand=True, fillcolor="white"), "PNG"
    ),
}
"""A blur of 1.5 pixels, JPEG of quality 20, and a turn by 2 degrees."""
_TRANSFERRED = Goal(0.95)
_Answered = Sequence[tuple[Page, Sequence[Entity]]]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks second-looks", description=__doc__)
    parser.add_argument("checkpoints", nargs="+")
    parser.add_argument("--pages", required=True, help="ingested documents of one page with fields, train and test")
    parser.add_argument("--copies", nargs="*", choices=COPIES, default=list(COPIES))
    options = parser.parse_args(arguments)
    data_set = DataSet(options.pages)
    pages = list(data_set.read_pages())
    test = [page for page in pages if page.split == "test"]
    sets = {"as they are": test} | {name: [_copy(page, name) for page in test] for name in options.copies}
    truth = {document.doc_id: document.fields for document in data_set.read_documents()}
    reports = [
        measure(one, [page for page in pages if page.split == "train"], sets, truth) for one in options.checkpoints
    ]
    sys.stdout.write(json.dumps(reports) + "\n")
    return 0


def measure(
    folder: str, train: Sequence[Page], sets: Mapping[str, Sequence[Page]], truth: Mapping[str, Sequence[Field]]
) -> dict[str, Any]:
    """The coverage of a checkpoint on each set of test pages, and the reviewed answers that its promises need."""
    extractor = Extractor(checkpoint.load(folder), "model", devices.CPU)
    schema = dict(extractor.fields)

    def answered(pages: Sequence[Page]) -> _Answered:
        return [(page, extractor.extract([page])[0]) for page in pages]

    documents = partial(_documents, truth)
    learnt = documents(answered(train), schema)
    looked, held_out = second_looks(learnt, schema)
    plain = judge(learnt, schema)
    scores = score_fields(learnt, plain, schema)
    sides = {
        "before": choose_thresholds(schema, plain, scores, _TRANSFERRED),
        "after": choose_thresholds(looked, held_out, scores, _TRANSFERRED),
    }
    report: dict[str, Any] = {"checkpoint": folder, "needed": {"before": _needed(plain), "after": _needed(held_out)}}
    report["train"] = {"before": _shares(plain, schema), "after": _shares(held_out, schema)}
    for name, pages in sets.items():
        found = answered(pages)
        judged = {side: judge(documents(found, fields), fields) for side, fields in sides.items()}
        report[name] = {side: _shares(one, schema) | _transferred(one, sides[side]) for side, one in judged.items()}
        report[name]["gain"] = _gain(judged["before"], judged["after"])
        rows = [(key, *(f"{report[name][side][key]:.3f}" for side in sides)) for key in report[name]["before"]]
        terminal.show_table(f"{folder}, {name}: gain at 0.99 {report[name]['gain']}", ("", "before", "after"), rows)
    return report


def _documents(truth: Mapping[str, Sequence[Field]], found: _Answered, schema: Schema) -> list[AnsweredDocument]:
    return [
        AnsweredDocument(
            [one for one in truth[page.doc_id] if one.name in schema], field_answers(entities, schema), page.doc_id
        )
        for page, entities in found
    ]


def _shares(judged: Sequence[JudgedAnswer], schema: Schema) -> dict[str, float]:
    """The largest share of answers with a precision of 0.99 on these pages themselves, of all fields and of each."""
    names = {"all at 0.98": (None, 0.98), "all": (None, 0.99)} | {name: (name, 0.99) for name in schema}
    return {key: accepted_share(*certainties(judged, name), precision) for key, (name, precision) in names.items()}


def _transferred(judged: Sequence[JudgedAnswer], schema: Schema) -> dict[str, float]:
    """What thresholds accept that were chosen on training pages."""
    found = measure_acceptance(judged, schema)
    return {"accepted from training": found.coverage[""].share, "their precision": found.precision[""].share}


def _gain(before: Sequence[JudgedAnswer], after: Sequence[JudgedAnswer]) -> list[float]:
    """The difference of the shares of all fields at 0.99, and 95 % of it over 2,000 resamplings of answers."""
    (old, right), (new, still_right) = certainties(before), certainties(after)
    every = np.arange(len(before))
    draws = np.random.default_rng(1).integers(0, len(before), (2000, len(before)))
    value, *gains = (
        accepted_share(new[draw], still_right[draw], 0.99) - accepted_share(old[draw], right[draw], 0.99)
        for draw in (every, *draws)
    )
    return [round(float(one), 3) for one in (value, *np.percentile(gains, [2.5, 97.5]))]


def _needed(judged: Sequence[JudgedAnswer]) -> dict[str, list[int | None]]:
    """The median number of reviewed answers after which a threshold is shown, in 10 orders; None if most show none."""
    needed: dict[str, list[int | None]] = {}
    for name in dict.fromkeys(one.answer.name for one in judged):
        own = [one for one in judged if one.answer.name == name]
        for precision in (0.9, 0.95, 0.99):
            firsts = [_first(Random(seed).sample(own, len(own)), Goal(precision)) for seed in range(10)]
            median = float(np.median(firsts))
            needed.setdefault(name, []).append(int(median) if np.isfinite(median) else None)
    return needed


def _first(judged: Sequence[JudgedAnswer], goal: Goal) -> float:
    rows = [(str(number), "", one.answer.confidence, one.correct) for number, one in enumerate(judged)]
    for seen in range(20, len(rows) + 1, 10):
        if of_field("", rows[:seen], None, goal).lowered is not None:
            return seen
    return np.inf


def _copy(page: Page, name: str) -> Page:
    """The page as OCR reads a worse copy of its picture."""
    with Image.open(io.BytesIO(sources.read_bytes(page.image))) as picture:
        data = COPIES[name](picture.convert("RGB"))
    return replace(recognise_page(data, 1, Recognition()).of_document(page.doc_id, page.source), split=page.split)


def _encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()
