"""WildReceipt: photographed receipts from the web with 25 entity types (Sun et al., 2021, arXiv:2103.14470).

Files: `train.txt` and `test.txt` (one receipt per line, as JSON), `class_list.txt` (number and name of each class),
and the pictures. Pictures may be missing: each line has width and height. Each box is one entity of its class;
`Ignore` and `Others` become `O`. A box is a quad in any rotation. Its text usually has no spaces, so it is one word;
boxes without text are dropped. Boxes keep the file's order; `block` is the box. Each document reference carries its
own line and the classes. When its picture is missing, `source` is the text file with the line number after `#`, and
the line's bytes identify the document.
"""

import json
from collections.abc import Iterator
from typing import Any

from layoutray.document import Box, Word
from layoutray.document.tags import OUTSIDE, word_tag
from layoutray.errors import DocumentError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageWords,
    bounds,
    file_name,
    folder_of,
    json_object,
    malformed,
    member,
    nothing_found,
    numbers,
    objects,
    page_size,
    text_of,
)
from layoutray.readers.segments import line_starts, split_words
from layoutray.store import sources

_SPLITS = {"train.txt": "train", "test.txt": "test"}
_CLASSES = "class_list.txt"
_NO_ENTITY = ("Ignore", "Others")


class _WildReceipt:
    name = "wildreceipt"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = set(sources.list_files(root))
        lists = sorted(
            uri for uri in files if file_name(uri).name in _SPLITS and sources.join(folder_of(uri), _CLASSES) in files
        )
        if not lists:
            raise nothing_found(root, f"train.txt or test.txt, and {_CLASSES} beside them")
        for uri in lists:
            classes = json.dumps(_classes(sources.join(folder_of(uri), _CLASSES))).encode()
            for number, line in enumerate(sources.read_bytes(uri).split(b"\n"), start=1):
                if line.strip():
                    picture = sources.join(folder_of(uri), _picture(line))
                    place = f"{uri}#{number}"
                    yield DocumentRef(
                        key=file_name(picture).stem or str(number),
                        source=picture if picture in files else place,
                        image=picture if picture in files else "",
                        annotation=sources.data_uri("application/json", classes + b"\n" + line),
                        split=_SPLITS[file_name(uri).name],
                    )

    def read(self, reference: DocumentRef) -> Truth:
        classes, _, line = sources.read_bytes(reference.annotation).partition(b"\n")
        doc_id = sources.content_id(sources.read_bytes(reference.image) if reference.image else line)
        collected = _collect(json_object(line, reference.source), json.loads(classes), reference.source)
        return collected.truth(reference.document(doc_id), reference)


def _classes(uri: str) -> dict[str, str]:
    """Name of each class by its number, without spaces so that it can be a tag."""
    classes: dict[str, str] = {}
    for number, line in enumerate(text_of(sources.read_bytes(uri), uri).splitlines(), start=1):
        label, *name = line.split() or [""]
        if label and not (label.isdecimal() and name):
            raise malformed(f"{uri}, line {number}", f"{line!r:.80} is not a number and a name")
        if label:
            classes[label] = "_".join(name)
    return classes


def _picture(line: bytes) -> str:
    """The picture file named in a line; empty for a line that `read` will reject."""
    try:
        return member(json_object(line, ""), "file_name", str, "")
    except DocumentError:
        return ""


def _collect(receipt: dict[str, Any], classes: dict[str, str], where: str) -> PageWords:
    page = PageWords(page_size(receipt, where))
    placed: list[tuple[str, Box, int, str]] = []
    for block, (place, value) in enumerate(objects(receipt, "annotations", where, "box")):
        text, label = member(value, "text", str, place), str(member(value, "label", int, place))
        if label not in classes:
            raise malformed(place, f"`label` is {label}; {_CLASSES} has {', '.join(classes)}")
        kind = OUTSIDE if classes[label] in _NO_ENTITY else classes[label]
        if not text.strip():
            page.dropped += 1
            continue
        sides = bounds(numbers(value.get("box"), place, form="x1, y1, x2, y2, x3, y3, x4, y4"), place)
        box = page.place(sides, f"{place} ({text!r:.40})")
        placed += [
            (part, inside, block, word_tag(kind, index)) for index, (part, inside) in enumerate(split_words(text, box))
        ]
    line = -1
    for (text, box, block, tag), begins in zip(placed, line_starts([box for _, box, _, _ in placed]), strict=True):
        line += begins
        page.words.append(Word(text=text, box=box, line=line, block=block, tag=tag))
    return page


READER = _WildReceipt()
