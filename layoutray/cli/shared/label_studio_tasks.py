"""Shared by the verbs that write pages as tasks for Label Studio, with the interface to label them in."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import InputError
from layoutray.formats import label_studio
from layoutray.formats.label_studio import LabelledSpan
from layoutray.report import png
from layoutray.report.page_picture import page_picture
from layoutray.store import shards, sources
from layoutray.store.spilled import JSON, SpilledDict

_HIDDEN = ".layoutray"
"""Folder for pictures in that of the documents. Its name begins with a dot, so that `ingest` does not read it."""

Suggestions = Mapping[str, Mapping[str, Any]]
"""By `_page_key`: answers of `predict`, as `Answer.to_json` gives them."""


@dataclass(frozen=True, kw_only=True)
class LabelStudioOptions:
    """Options of every verb that writes tasks; `out` is the folder for tasks.json, labels.xml and pictures."""

    pages: str = options.pages()
    out: str
    labels: Sequence[str] = option(
        "--labels", nargs="+", default=[], metavar="LABEL", help="labels to offer in addition to those of the pages"
    )
    root: str = option(
        "--root",
        default="/",
        help="folder from which Label Studio serves local files; gets pictures of PDF pages in .layoutray/ unless it "
        "contains the tasks (default: %(default)s)",
    )
    url: str = option(
        "--url",
        default=label_studio.LOCAL_FILES,
        metavar="PREFIX",
        help="prefix of a file's path below --root (default: %(default)s)",
    )


def suggestions(answers: Iterable[Mapping[str, Any]]) -> Suggestions:
    """The answers of pages, on the local disk."""
    found: SpilledDict[Mapping[str, Any]] = SpilledDict(JSON)
    for answer in answers:
        for page in answer["pages"]:
            found[_page_key(answer["doc_id"], page["page_number"])] = answer
    return found


def write_tasks(pages: Iterable[Page], suggested: Suggestions, chosen: LabelStudioOptions) -> None:
    """Write the pages as tasks, in their order, one after the other, and say what was written.

    A page that `suggested` lacks has its own labels as suggestions.

    Raises:
        InputError: when no page has a picture, or there are no labels.
    """
    out = sources.absolute(chosen.out)
    written = without_picture = 0
    suggested_labels: set[str] = set()
    with shards.writing(out, "tasks.json") as file:
        for page in pages:
            if not page.image:
                without_picture += 1
                continue
            task = _task(page, suggested, chosen)
            file.write(b", " if written else b"[")
            file.write(json.dumps(task, ensure_ascii=False).encode())
            marks = [one["value"] for one in task["predictions"][0]["result"] if one["type"] == "rectanglelabels"]
            suggested_labels |= {mark["rectanglelabels"][0] for mark in marks}
            written += 1
        file.write(b"]")
        if not written:
            raise InputError(
                f"none of the {without_picture} pages in {chosen.pages} has a picture to label; "
                "ingest them from pictures or PDFs"
            )
        labels = sorted({*chosen.labels, *suggested_labels} - {OUTSIDE})
        if not labels or not all(label.strip() for label in labels):
            raise InputError("the pages carry no labels, and --labels names none; name at least one with --labels")
        # Before tasks.json, which marks a complete folder.
        shards.write_bytes(label_studio.labelling_interface(labels).encode(), out, "labels.xml")
    terminal.say(
        f"{written} pages to label as {', '.join(labels)}: "
        f"import {chosen.out}/tasks.json into a project with the interface of labels.xml"
    )
    if without_picture:
        terminal.say(f"{without_picture} pages without a picture are left out")


def _task(page: Page, suggested: Suggestions, chosen: LabelStudioOptions) -> dict[str, Any]:
    answer = suggested.get(_page_key(page.doc_id, page.number))
    model = f"{answer['model_id']} {answer['model_version']}" if answer else "layoutray"
    marks = _spans(answer) if answer else label_studio.spans_of(page)
    out, root = sources.absolute(chosen.out), sources.absolute(chosen.root)
    if label_studio.browser_can_show(page):
        picture = sources.absolute(page.image)
    else:  # drawn, into the folder of the tasks, or hidden in --root if Label Studio does not serve the tasks
        served = sources.local_path(out) is None or label_studio.is_below(out, root)
        folder = sources.join(out if served else sources.join(root, _HIDDEN), "pictures")
        picture = shards.write_bytes(png.png(page_picture(page)), folder, f"{page.doc_id[:16]}-{page.number}.png")
    return label_studio.task(page, marks, label_studio.picture_url(picture, root, chosen.url), model)


def _page_key(doc_id: str, number: int) -> str:
    return f"{doc_id} {number}"


def _spans(answer: Mapping[str, Any]) -> tuple[LabelledSpan, ...]:
    """The entities of an answer, and the records to which they belong."""
    records = {
        (entity["type"], *entity["words"]): (record["name"], record["row"])
        for record in answer.get("records", ())
        for entity in record["fields"]
    }
    return tuple(
        LabelledSpan(
            label=entity["type"],
            words=tuple(entity["words"]),
            score=entity["confidence"],
            content=entity["content"],
            record=records.get((entity["type"], *entity["words"])),
        )
        for entity in answer["entities"]
    )
