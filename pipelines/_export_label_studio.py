"""Pages as tasks for Label Studio, with labels and scores where a checkpoint has answered them, and the interface to label them in.

What people make of them there, exported in the format JSON, is read by `layoutray ingest ingest-label-studio`.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import InputError
from layoutray.exchange import label_studio
from layoutray.exchange.label_studio import LabelledSpan
from layoutray.report import png
from layoutray.report.page_picture import page_picture
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet
from pipelines import _terminal as terminal

Answers = dict[tuple[str, int], tuple[str, tuple[LabelledSpan, ...]]]
"""What a model has found, by document and page."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray export label-studio", description=__doc__)
    parser.add_argument("pages", help="folder that `layoutray ingest` has written, or `layoutray predict` of files")
    parser.add_argument(
        "out", help="folder for tasks.json, labels.xml, and pictures of pages that browsers do not show"
    )
    parser.add_argument("--answers", metavar="FOLDER", help="what `layoutray predict` has answered of these pages")
    parser.add_argument(
        "--labels", nargs="+", default=[], metavar="LABEL", help="labels to offer beside those that the pages have"
    )
    parser.add_argument(
        "--root", default="/", help="folder that Label Studio serves local files from (default: /, as is its own)"
    )
    parser.add_argument(
        "--url",
        default=label_studio.LOCAL_FILES,
        metavar="PREFIX",
        help="what stands before a file's path below --root",
    )
    options = parser.parse_args(arguments)
    ingested, answered = _folders(options.pages, options.answers)
    out = sources.absolute(options.out)
    if sources.exists(sources.join(out, "tasks.json")):
        raise InputError(f"{options.out} holds tasks already; give another folder, or delete that one")
    answers = _answers(answered) if answered else {}
    tasks, hidden = [], 0
    for page in _pages(ingested):
        model, marks = answers.get((page.doc_id, page.number), ("layoutray", label_studio.spans_of(page)))
        if page.image:
            url = label_studio.picture_url(_picture(page, out), sources.absolute(options.root), options.url)
            tasks.append(label_studio.task(page, marks, url, model))
        hidden += not page.image
    if not tasks:
        raise InputError(
            f"none of the {hidden} pages in {options.pages} has a picture to label it on; ingest them from pictures or PDFs"
        )
    labels = _labels(tasks, options.labels)
    shards.write_bytes(label_studio.labelling_interface(labels).encode(), out, "labels.xml")
    shards.write_bytes(json.dumps(tasks, ensure_ascii=False).encode(), out, "tasks.json")
    terminal.say(
        f"{len(tasks)} pages to label as {', '.join(labels)}: import {options.out}/tasks.json into a project with labels.xml"
    )
    if hidden:
        terminal.say(f"{hidden} pages have no picture to label them on, and are left out")
    return 0


def _folders(pages: str, answers: str | None) -> tuple[str, str | None]:
    """Where the pages are, and the answers; `predict` keeps the pages of files that it has read itself in `ingested`."""
    inside = sources.join(pages, "ingested")
    return (inside, answers or pages) if sources.exists(inside) else (pages, answers)


def _pages(folder: str) -> Iterator[Page]:
    """Pages in the order of documents, which is the same every time."""
    found = list(DataSet(folder).read_pages())
    yield from sorted(found, key=lambda page: (page.source, page.number))


def _answers(folder: str) -> Answers:
    files = [uri for uri in sources.list_files(sources.join(folder, "jsonl")) if uri.endswith(".jsonl")]
    if not files:
        raise InputError(
            f"{folder} holds no jsonl/*.jsonl; point --answers to a folder that `layoutray predict` has written"
        )
    found: Answers = {}
    for line in (line for uri in files for line in sources.read_bytes(uri).splitlines()):
        answer = json.loads(line)
        marks = tuple(LabelledSpan(one["type"], tuple(one["words"]), one["confidence"]) for one in answer["entities"])
        for page in answer["pages"]:
            found[answer["doc_id"], page["page_number"]] = f"{answer['model_id']} {answer['model_version']}", marks
    return found


def _picture(page: Page, out: str) -> str:
    """URI of a picture of the page that browsers show; drawn where there is none."""
    if label_studio.browser_can_show(page):
        return sources.absolute(page.image)
    picture = png.png(page_picture(page))
    return shards.write_bytes(picture, sources.join(out, "pictures"), f"{page.doc_id[:16]}-{page.number}.png")


def _labels(tasks: Sequence[dict[str, Any]], more: Sequence[str]) -> list[str]:
    results = (
        result for task in tasks for result in task["predictions"][0]["result"] if "rectanglelabels" in result["value"]
    )
    labels = sorted({*more, *(result["value"]["rectanglelabels"][0] for result in results)} - {OUTSIDE})
    if not labels or not all(label.strip() for label in labels):
        raise InputError(
            "there is nothing to label pages as: they carry no labels, and --labels names none; give one or more"
        )
    return labels
