"""`layoutray export dataset`: labelled pages for other programs, as Parquet for the package datasets, FUNSD or COCO."""

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pyarrow.compute as pc

from layoutray.cli.shared import checked, options, output_folder, terminal
from layoutray.cli.shared.options import option
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.formats import entity_json, layoutlm
from layoutray.ocr import pictures, render
from layoutray.report.page_picture import page_picture
from layoutray.store import sources
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet

_SPLITS = ("train", "dev", "test")
_FUNSD = {"train": "training_data", "dev": "validation_data", "test": "testing_data"}
_AS_THEY_ARE = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True)
class _Source:
    """The pages to export.

    Attributes:
        num_pages: by document id.
    """

    pages: DataSet
    num_pages: Mapping[str, int]

    @classmethod
    def of(cls, folder: str) -> Self:
        data_set = DataSet(pages_folder(folder))
        others, documents = set[str](), Counter[str]()
        for table in data_set.scan_pages(["split", "doc_id"]):
            others |= {*table["split"].to_pylist()} - {*_SPLITS}
            documents.update(table["doc_id"].to_pylist())
        if others:
            raise InputError(
                f"{folder} has pages of the splits {sorted(others)}; "
                f"they must be {', '.join(_SPLITS)}: ingest them with `layoutray ingest`"
            )
        return cls(data_set, documents)

    @cached_property
    def tags(self) -> list[str]:
        """All tags of all splits, which share their numbers."""
        return layoutlm.tag_names(self.pages.read_pages())

    def of_split(self, split: str) -> list[Page]:
        """The pages of a split, in order of document and number."""
        found = self.pages.read_pages(pc.field("split") == split)
        return sorted(found, key=lambda page: (page.source, page.doc_id, page.number))


def _write_parquet(source: _Source, split: str, out: Path) -> int:
    pages = source.pages.read_pages(pc.field("split") == split)
    first = next(pages, None)
    if first is None:
        return 0
    file = out / "data" / f"{layoutlm.FILES[split]}-00000-of-00001.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as sink:
        writer = layoutlm.SplitWriter(sink, source.tags, _picture)
        for page in chain([first], pages):
            writer.write(page, source.num_pages[page.doc_id])
        return writer.close()


def _write_funsd(source: _Source, split: str, out: Path) -> int:
    pages = source.of_split(split)
    folder = out / _FUNSD[split]
    for page in pages:
        name = _save_picture(page, folder / "images")
        stem = Path(name).stem if name else page.doc_id
        _save_json(folder / "annotations" / f"{stem}.json", entity_json.funsd(page))
    return len(pages)


def _write_coco(source: _Source, split: str, out: Path) -> int:
    pages = [(page, _save_picture(page, out / "images")) for page in source.of_split(split)]
    if pages:
        _save_json(out / "annotations" / f"{split}.json", entity_json.coco(pages))
    return len(pages)


def _save_picture(page: Page, folder: Path) -> str:
    """Write the picture of a page, named by its document; returns the file's name, empty without a picture."""
    picture = _picture(page)
    if picture is None:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / picture[0]).write_bytes(picture[1])
    return picture[0]


def _picture(page: Page) -> tuple[str, bytes] | None:
    """Name and bytes: PNG and JPEG files as they are, other pictures, and those that EXIF turns, as PNG of the page."""
    if not page.image:
        return None
    suffix = Path(page.image).suffix.lower()
    if suffix in _AS_THEY_ARE:
        content = sources.read_bytes(page.image)
        if not pictures.is_turned(content, render.sniff(content)):
            return f"{page.doc_id}{suffix}", content
    sink = io.BytesIO()
    page_picture(page).save(sink, "PNG")
    return f"{page.doc_id}-{page.number}.png", sink.getvalue()


def _save_json(file: Path, content: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


_FORMATS: Mapping[str, Callable[[_Source, str, Path], int]] = {
    "datasets": _write_parquet,
    "funsd": _write_funsd,
    "coco": _write_coco,
}


@dataclass(frozen=True, kw_only=True)
class DataSetOptions:
    """Options of `layoutray export dataset`."""

    pages: str = options.pages()
    out: Path = option(type=checked.local_folder, help="folder of the data set, new or empty")
    format: str = option(
        "--format",
        choices=_FORMATS,
        default="datasets",
        help="Parquet in the convention of LayoutLM, for `datasets.load_dataset`; FUNSD's JSON; or COCO with words "
        "(default: %(default)s)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("export dataset", arguments, DataSetOptions)
    with output_folder.new_folder(chosen.out):
        source = _Source.of(chosen.pages)
        long = sum(count > 1 for count in source.num_pages.values())
        if long and chosen.format != "datasets":
            raise InputError(
                f"{long} documents in {chosen.pages} have several pages, which FUNSD and COCO cannot hold; "
                "use --format datasets"
            )
        counts = {split: _FORMATS[chosen.format](source, split, chosen.out) for split in _SPLITS}
        told = ", ".join(f"{count} {split}" for split, count in counts.items() if count)
        terminal.say(f"pages: {told}: {chosen.out}")
        return 0
