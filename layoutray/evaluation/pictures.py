"""Pictures of an evaluation as PNG bytes: confusion of types, reliability of confidences, overlays of pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Page
from layoutray.document.answers import Entity, Record
from layoutray.evaluation.calibration import FieldCalibration, WordCalibration
from layoutray.evaluation.capabilities import word_tagger
from layoutray.evaluation.page_selection import PageSelection
from layoutray.evaluation.predictions import Predictions
from layoutray.inference.extractor import entity_types
from layoutray.report import overlay, png
from layoutray.report.confusion import confusion
from layoutray.report.page_picture import page_picture
from layoutray.report.reliability import reliability
from layoutray.store import codec
from layoutray.store.schema import PAGES
from layoutray.tasks import records_of
from layoutray.tasks.record_columns import with_columns
from layoutray.tasks.records import find_records

OVERLAYS = 4
"""Number of pages that are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOverlay:
    """A page with the entities that were found and those that should have been found.

    Attributes:
        records: that the found entities form.
        types: all entity types of the model; they determine the colours.
    """

    page: Page
    entities: tuple[Entity, ...]
    truth: tuple[Entity, ...]
    types: tuple[str, ...]
    records: tuple[Record, ...] = ()

    def png(self) -> bytes:
        """The page with found entities as boxes, records as outlines and expected entities as dashed outlines.

        Raises:
            DocumentError: when the page's image cannot be read.
        """
        picture = page_picture(self.page)
        drawn = overlay.draw(
            picture,
            self.entities,
            page_number=self.page.number,
            truth=self.truth,
            types=self.types,
            records=self.records,
        )
        return png.png(drawn)


def confusion_picture(counts: Mapping[tuple[str, str], int]) -> bytes:
    """Words by (true type, predicted type)."""
    return png.png(confusion(counts, sorted({kind for pair in counts for kind in pair})))


def reliability_picture(words: WordCalibration, fields: FieldCalibration | None) -> bytes:
    """Accuracy over confidence, of word labels and of answered fields."""
    curves = {
        "words, temperature 1": words.uncalibrated_bins,
        f"words, temperature {words.temperature:.2f}": words.bins,
    }
    if fields:
        curves["fields"] = fields.bins
    return png.png(reliability(curves))


def pages_to_draw(selection: PageSelection) -> list[Page]:
    """The first few selected pages with an image, by page id: the same pages for every model."""
    has_image = pc.field("image") != ""
    tables = selection.tables(["page_id"], has_image)
    first = sorted(page_id for table in tables for page_id in table["page_id"].to_pylist())[:OVERLAYS]
    chosen = has_image & pc.field("page_id").isin(pa.array(first, pa.string()))
    table = pa.concat_tables([PAGES.empty_table(), *selection.tables(also=chosen)])
    return list(codec.pages_of(table.sort_by("page_id").slice(0, OVERLAYS))) if first else []


def overlays(predictions: Predictions, pages: Sequence[Page]) -> Iterator[PageOverlay]:
    """Each of `pages` with its found entities and those of its annotation."""
    task, types = word_tagger(predictions.loaded), entity_types(predictions.loaded.labels)
    for page, found in zip(pages, predictions.entities(pages), strict=True):
        truth = task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
        (in_columns,) = with_columns([page], [found], records_of(task))
        records = find_records([page], [in_columns], records_of(task))
        yield PageOverlay(page=page, entities=in_columns, truth=truth, types=types, records=records)
