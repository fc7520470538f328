"""Which documents of a data set an ingest recipe selects."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch

from layoutray import readers
from layoutray.errors import InputError
from layoutray.prepare.recognise import check_engine
from layoutray.prepare.record_codecs import DOCUMENT_REF
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.spilled import TEXT, SpilledList


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The documents that a recipe selects.

    Attributes:
        references: in a stable order; on disk.
        splits: splits that the data set itself defines.
        without_picture: sources of documents that are left out because OCR has no picture to read.
    """

    references: SpilledList[DocumentRef]
    splits: Collection[str]
    without_picture: Sequence[str]


def find_documents(root: str, recipe: IngestRecipe, limit: int | None = None) -> FoundDocuments:
    """The first `limit` readable documents below `root` that `recipe` selects. Raises InputError if there is none."""
    references, without_picture = SpilledList(DOCUMENT_REF), SpilledList(TEXT)
    splits: set[str] = set()
    discovered = readers.load(recipe.reader, pictures=recipe.pictures).discover(root)
    for reference in (apply_measured_split(reference, recipe) for reference in discovered):
        if reference is None or not fnmatch(reference.source.rpartition("/")[2], recipe.only):
            continue
        splits.add(reference.split)
        if recipe.words == "ocr" and not reference.image:
            without_picture.append(reference.source)
        elif limit is None or len(references) < limit:
            references.append(reference)
    if not splits:
        left_out = (
            "" if recipe.measured == "test" else f" (measured = {recipe.measured!r} leaves out the set's own test)"
        )
        if recipe.only == "*" and not left_out:
            raise InputError(
                f"there is no document below {root!r}; add files (or rows of their values), or give another"
            )
        raise InputError(
            f"no document below {root!r} has a name that matches {recipe.only!r}{left_out}; "
            "change `only`, or give another folder"
        )
    if not references and limit != 0:
        raise InputError(
            f"none of the {len(without_picture)} documents below {root!r} comes with a picture; "
            "ingest the set with words = 'annotation'"
        )
    return FoundDocuments(references, splits, without_picture)


def check_source(root: str, recipe: IngestRecipe) -> None:
    """Raise InputError if there is no document below `root`, MissingDependencyError if the OCR engine lacks a part."""
    next(iter(readers.load(recipe.reader).discover(root)), None)
    if recipe.words == "ocr":
        check_engine(recipe.recognition)


def apply_measured_split(reference: DocumentRef, recipe: IngestRecipe) -> DocumentRef | None:
    """`reference` in the split that `recipe.measured` gives it; None if the recipe leaves it out.

    `measured = "dev"` is for data sets whose own test split has no truth: their dev split becomes test.
    """
    if recipe.measured == "none":
        return replace(reference, split="")
    if recipe.measured == "test" or reference.split in ("train", ""):
        return reference
    return replace(reference, split="test") if reference.split == recipe.measured else None
