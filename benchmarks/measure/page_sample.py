"""A sample of a user's own documents, for measurements."""

from collections.abc import Sequence
from pathlib import Path

from layoutray.errors import DocumentError, InputError
from layoutray.ocr.render import count_pages
from layoutray.ocr.settings import Recognition

_SUFFIXES = frozenset({".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff"})


def link_sample(sources: Sequence[Path], count: int, folder: Path) -> None:
    """Link files of the folders `sources`, of at most `count` pages in total, into the new folder `folder`.

    The files are spread evenly over all files of `sources` in alphabetical order.

    Raises:
        InputError: when one of `sources` is not a folder.
    """
    for source in sources:
        if not source.is_dir():
            raise InputError(f"{source} is not a folder; name folders of pictures and PDF files")
    files = sorted(file for source in sources for file in source.rglob("*") if file.suffix.lower() in _SUFFIXES)
    folder.mkdir()
    for number, file in enumerate(_spread(files, [_page_count(file) for file in files], count)):
        (folder / f"{number:05d}{file.suffix.lower()}").symlink_to(file.resolve())


def _page_count(file: Path) -> int:
    """Number of pages; 1 for a file that cannot be opened, because ingest has to handle it too."""
    try:
        return count_pages(file.read_bytes(), Recognition())
    except DocumentError:
        return 1


def _spread(files: Sequence[Path], pages: Sequence[int], count: int) -> list[Path]:
    """Take each file whose pages keep the sample within `count` pages times the share of all pages that were passed."""
    total, passed, taken = sum(pages), 0, 0
    sample: list[Path] = []
    for file, file_pages in zip(files, pages, strict=True):
        passed += file_pages
        if (taken + file_pages) * total <= min(count, total) * passed:
            sample.append(file)
            taken += file_pages
    return sample
