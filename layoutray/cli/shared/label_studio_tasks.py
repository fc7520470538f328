"""Shared by the verbs that write pages as tasks for Label Studio, with the interface to label them in."""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.cli.shared import terminal
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import InputError
from layoutray.formats import label_studio
from layoutray.formats.label_studio import LabelledSpan
from layoutray.report import png
from layoutray.report.page_picture import page_picture
from layoutray.store import shards, sources

Suggestions = Mapping[tuple[str, int], tuple[str, tuple[LabelledSpan, ...]]]
"""By document id and page number: the model with its version, and the entities that it found."""


@dataclass(frozen=True, kw_only=True)
class LabelStudioOptions:
    """Options of every verb that writes tasks.

    Attributes:
        out: folder for tasks.json, labels.xml and pictures.
        labels: to offer in addition to those of the pages.
        root: folder from which Label Studio serves local files.
        url: prefix of a file's path below `root`.
    """

    out: str
    labels: Sequence[str]
    root: str
    url: str


def add_label_studio_options(parser: argparse.ArgumentParser) -> None:
    """The fields of `LabelStudioOptions` but `out`."""
    parser.add_argument(
        "--labels", nargs="+", default=[], metavar="LABEL", help="labels to offer in addition to those of the pages"
    )
    parser.add_argument(
        "--root", default="/", help="folder from which Label Studio serves local files (default: %(default)s)"
    )
    parser.add_argument(
        "--url",
        default=label_studio.LOCAL_FILES,
        metavar="PREFIX",
        help="prefix of a file's path below --root (default: %(default)s)",
    )


def suggestions(answers: Iterable[Mapping[str, Any]]) -> Suggestions:
    """The entities and records of answers of `predict`, as `Answer.to_json` gives them."""
    found: dict[tuple[str, int], tuple[str, tuple[LabelledSpan, ...]]] = {}
    for answer in answers:
        records = {
            (entity["type"], *entity["words"]): (record["name"], record["row"])
            for record in answer.get("records", ())
            for entity in record["fields"]
        }
        marks = tuple(
            LabelledSpan(
                entity["type"],
                tuple(entity["words"]),
                entity["confidence"],
                entity["content"],
                records.get((entity["type"], *entity["words"])),
            )
            for entity in answer["entities"]
        )
        for page in answer["pages"]:
            found[answer["doc_id"], page["page_number"]] = f"{answer['model_id']} {answer['model_version']}", marks
    return found


def write_tasks(folder: str, pages: Iterable[Page], suggested: Suggestions, chosen: LabelStudioOptions) -> None:
    """Write the pages as tasks, in their order, and say what was written.

    A page that `suggested` lacks has its own labels as suggestions.

    Args:
        folder: of the pages, for messages.

    Raises:
        InputError: when no page has a picture, or there are no labels.
    """
    every = list(pages)
    tasks = [_task(page, suggested, chosen) for page in every if page.image]
    without_picture = len(every) - len(tasks)
    if not tasks:
        raise InputError(
            f"none of the {without_picture} pages in {folder} has a picture to label; ingest them from pictures or PDFs"
        )
    labels = _labels(tasks, chosen.labels)
    out = sources.absolute(chosen.out)
    # The interface first: tasks.json marks a complete folder.
    shards.write_bytes(label_studio.labelling_interface(labels).encode(), out, "labels.xml")
    shards.write_bytes(json.dumps(tasks, ensure_ascii=False).encode(), out, "tasks.json")
    terminal.say(
        f"{len(tasks)} pages to label as {', '.join(labels)}: "
        f"import {chosen.out}/tasks.json into a project with the interface of labels.xml"
    )
    if without_picture:
        terminal.say(f"{without_picture} pages without a picture are left out")


def _task(page: Page, suggested: Suggestions, chosen: LabelStudioOptions) -> dict[str, Any]:
    model, marks = suggested.get((page.doc_id, page.number), ("layoutray", label_studio.spans_of(page)))
    picture = _picture(page, sources.absolute(chosen.out))
    url = label_studio.picture_url(picture, sources.absolute(chosen.root), chosen.url)
    return label_studio.task(page, marks, url, model)


def _picture(page: Page, out: str) -> str:
    """URI of a picture of the page that browsers show; drawn into `out` if the page's own is in another format."""
    if label_studio.browser_can_show(page):
        return sources.absolute(page.image)
    picture = png.png(page_picture(page))
    return shards.write_bytes(picture, sources.join(out, "pictures"), f"{page.doc_id[:16]}-{page.number}.png")


def _labels(tasks: Sequence[Mapping[str, Any]], extra: Sequence[str]) -> list[str]:
    results = (result for task in tasks for result in task["predictions"][0]["result"])
    suggested = {result["value"]["rectanglelabels"][0] for result in results if result["type"] == "rectanglelabels"}
    labels = sorted({*extra, *suggested} - {OUTSIDE})
    if not labels or not all(label.strip() for label in labels):
        raise InputError("the pages carry no labels, and --labels names none; name at least one with --labels")
    return labels
