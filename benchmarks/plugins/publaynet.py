"""PubLayNet: pictures of pages of papers with labelled regions (text, title, list, table, figure) and no words.

Files: `{train,val}/*.jpg` and `{train,val}.json` in COCO format, or any folder with both. The name of the JSON file
gives the split of its pictures. A picture in no JSON file (all of `test/`) has no regions, and its folder gives the
split. A JSON file covers all seven archives of the data set; pictures that are missing are ignored. `bbox` is x, y,
width, height in pixels. A JSON file has up to 1.6 GB: it is read once, and each document reference carries its own
regions.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from layoutray.document import LabelledArea
from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    file_name,
    folder_of,
    json_object,
    malformed,
    member,
    nothing_found,
    numbers,
    page_size,
)
from layoutray.store import sources

_SPLITS = {"train": "train", "val": "dev", "dev": "dev", "test": "test"}


class _PubLayNet:
    name = "publaynet"
    tags = "region"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = list(sources.list_files(root))
        pictures = [uri for uri in files if file_name(uri).suffix.lower() == ".jpg"]
        if not pictures:
            raise nothing_found(root, "{train,val}/*.jpg, and {train,val}.json beside the folders")
        jsons = [uri for uri in files if file_name(uri).suffix.lower() == ".json"]
        annotated = _annotated(jsons, {file_name(uri).name for uri in pictures})
        for uri in pictures:
            json_file, annotation = annotated.get(file_name(uri).name, ("", ""))
            split = file_name(json_file).stem if json_file else file_name(folder_of(uri)).name
            yield DocumentRef(
                key=file_name(uri).stem, source=uri, image=uri, annotation=annotation, split=_SPLITS.get(split, "")
            )

    def read(self, reference: DocumentRef) -> Truth:
        document = reference.document(sources.content_id(sources.read_bytes(reference.source)))
        if not reference.annotation:
            return Truth(document=document, pages=(), regions=())
        picture = json_object(sources.read_bytes(reference.annotation), reference.source)
        page = PageWords(PageSize(picture["width"], picture["height"]))
        regions = tuple(
            LabelledArea(label, page.place(sides, f"{reference.source}, region {index} ({label})"))
            for index, (label, *sides) in enumerate(picture["regions"])
        )
        return Truth(document=document, pages=(), regions=regions, repairs=page.repairs)


def _annotated(jsons: Iterable[str], names: Collection[str]) -> dict[str, tuple[str, str]]:
    """The JSON file and the annotation of each picture in `names` that a JSON file lists."""
    annotations: dict[str, tuple[str, str]] = {}
    for uri in jsons:
        for name, annotation in _pictures(uri, names):
            if name in annotations:
                raise InputError(
                    f"{uri} and {annotations[name][0]} both annotate {name!r}; a picture must have one annotation; "
                    "remove one of the files"
                )
            annotations[name] = uri, annotation
    return annotations


def _pictures(uri: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Name and annotation (as a `data:` URI) of each picture of a COCO file that is in `names`; none for other JSON."""
    coco = json_object(sources.read_bytes(uri), uri, each=_without_outline)
    if not coco.keys() >= {"images", "annotations", "categories"}:
        return
    labels = {
        member(category, "id", int, where): member(category, "name", str, where)
        for category, where in _objects(coco, "categories", uri)
    }
    pictures: dict[int, tuple[str, dict[str, Any]]] = {}
    for image, where in _objects(coco, "images", uri):
        name = file_name(member(image, "file_name", str, where)).name
        if name in names:
            pictures[member(image, "id", int, where)] = name, asdict(page_size(image, where)) | {"regions": []}
    for annotation, where in _objects(coco, "annotations", uri):
        if (picture := pictures.get(member(annotation, "image_id", int, where))) is not None:
            picture[1]["regions"].append(_region(annotation, labels, where))
    for name, picture in pictures.values():
        yield name, sources.data_uri("application/json", json.dumps(picture, separators=(",", ":")).encode())


def _without_outline(value: dict[str, Any]) -> dict[str, Any]:
    # Polygons use most of the memory of a COCO file, and only boxes are needed.
    value.pop("segmentation", None)
    return value


def _objects(coco: dict[str, Any], key: str, uri: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of a list in a COCO file, each with its place for error messages."""
    for index, value in enumerate(member(coco, key, list, uri)):
        where = f"{uri}, {key}[{index}]"
        if not isinstance(value, dict):
            raise malformed(where, f"is {value!r:.80}, expected an object")
        yield value, where


def _region(annotation: dict[str, Any], labels: dict[int, str], where: str) -> tuple[str, float, float, float, float]:
    """Label, x0, y0, x1, y1."""
    category = member(annotation, "category_id", int, where)
    if category not in labels:
        raise malformed(where, f"`category_id` is {category}; `categories` has {', '.join(map(str, labels))}")
    x, y, width, height = numbers(annotation.get("bbox"), where, "bbox", "x, y, width, height")
    return labels[category], x, y, x + width, y + height


READER = _PubLayNet()
