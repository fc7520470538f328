"""layoutray: turn scanned pages into extractors that you train and host yourself.

pages = layoutray.read_pages("scan.pdf")
extractor = layoutray.load_extractor("models:/receipts@champion")
answers = extractor.answers(pages)
table = layoutray.open_pages("runs/pages")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layoutray.api import load_extractor, open_pages, read_pages

    __version__: str

__all__ = ["__version__", "load_extractor", "open_pages", "read_pages"]


def __getattr__(name: str) -> Any:
    # Imported on first use: the API imports PyTorch and MLflow, which takes seconds; the version is read from files.
    if name == "__version__":
        from layoutray.version import VERSION

        return VERSION
    if name in __all__:
        from layoutray import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
