"""Turns the selected pages into the examples that a checkpoint reads."""

from dataclasses import dataclass

import pyarrow as pa

from layoutray.batching.examples import ExampleSet, TableBlocks
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError, Reason
from layoutray.evaluation.page_selection import PageSelection
from layoutray.prepare.encode import Encoder
from layoutray.store.dead_letter import DeadLetter

_ORDER = [(name, "ascending") for name in ("doc_id", "page", "window")]


@dataclass(frozen=True)
class EncodedPages:
    """The examples of the selected pages, and a dead letter for everything that is missing from them."""

    examples: ExampleSet
    letters: tuple[DeadLetter, ...]

    @property
    def failed_pages(self) -> int:
        return sum(letter.page is not None for letter in self.letters)

    @property
    def cut_documents(self) -> int:
        """Number of documents with more tokens than the model reads."""
        return sum(letter.reason == Reason.CUT for letter in self.letters)

    @property
    def cut_texts(self) -> int:
        """Number of expected texts with more tokens than the model generates."""
        return sum(letter.reason == Reason.TEXT_CUT for letter in self.letters)


def encode_pages(loaded: Checkpoint, selection: PageSelection, max_length: int = 0) -> EncodedPages:
    """Encode the selected pages for the task of `loaded`.

    Args:
        max_length: of a window, in tokens; 0 is that of the checkpoint's recipe.

    Raises:
        InputError: when no page is selected, or none can be encoded.
    """
    recipe = loaded.recipe
    vocabulary = loaded.tokenizer.inner.to_str()
    encoder = Encoder(
        task=recipe.task,
        max_length=max_length or recipe.max_length,
        labels=loaded.labels,
        vocabulary=vocabulary,
        data_sets=selection.data_sets,
    )
    tables: list[pa.Table] = []
    letters: list[DeadLetter] = []
    for pages in selection.tables():
        table, failures = encoder(pages)
        tables.append(table)
        letters += failures
    selection.require_pages(len(tables))
    examples = pa.concat_tables(tables).sort_by(_ORDER)
    if not examples.num_rows:
        reason = letters[0].message if letters else "none has words"
        raise InputError(f"no page of {', '.join(selection.folders)} can be measured: {reason}")
    return EncodedPages(ExampleSet(TableBlocks(examples)), tuple(letters))
