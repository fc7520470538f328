"""Options of the commands that measure a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layoutray.cli.shared import options
from layoutray.cli.shared.options import CheckpointOptions, option
from layoutray.errors import InputError

if TYPE_CHECKING:
    from layoutray.cli.shared.measured import TrackedCheckpoint
    from layoutray.evaluation.page_selection import PageSelection


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """The pages that something is measured on."""

    pages: Sequence[str] = option(nargs="+", help="folders written by `layoutray ingest`")
    split: str = options.split("test")
    without: Path | None = option(
        "--without", type=Path, metavar="FILE", help="exclude the documents in FILE, one doc_id per line"
    )

    def selection(self) -> "PageSelection":
        """The pages to measure.

        Raises:
            InputError: when the file of excluded documents cannot be read.
        """
        from layoutray.evaluation.page_selection import PageSelection

        folders = tuple(self.pages)
        if self.without is None:
            return PageSelection(folders, self.split)
        try:
            excluded = frozenset(self.without.read_text(encoding="utf-8").split())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"--without {self.without} cannot be read: {error}; it must be a text file with one doc_id per line"
            ) from error
        return PageSelection(folders, self.split, excluded, self.without.stem)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(SelectionOptions, CheckpointOptions):
    """A checkpoint and the pages it is measured on."""

    def load(self) -> "TrackedCheckpoint":
        from layoutray import checkpoint
        from layoutray.cli.shared.measured import TrackedCheckpoint
        from layoutray.tracking import registered

        folder, _ = registered.checkpoint_folder(self.checkpoint, self.tracking_uri)
        return TrackedCheckpoint(checkpoint.load(folder), folder, self.tracking_uri)
