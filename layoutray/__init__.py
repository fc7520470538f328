"""layoutray: turn scanned pages into extractors that you train and host yourself.

layoutray.ingest("ingest-folder", "scans", "runs/pages")
layoutray.encode("finetune", ["runs/pages"], out="runs/examples")
layoutray.finetune("finetune", "runs/examples", out="runs/model")
layoutray.evaluate("runs/model", ["runs/pages"])
layoutray.predict("runs/model", "scans", out="runs/answers")
with layoutray.serve("runs/model") as url:
    ...

pages = layoutray.read_pages("scan.pdf")
extractor = layoutray.load_extractor("models:/receipts@champion")
answers = extractor.answers(pages)
table = layoutray.open_pages("runs/pages")
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layoutray.api import load_extractor, open_pages, read_pages, serve
    from layoutray.cli.answer import answer
    from layoutray.cli.encode import encode
    from layoutray.cli.evaluate import measure as evaluate
    from layoutray.cli.ingest import ingest
    from layoutray.cli.predict import predict
    from layoutray.cli.synthesize import synthesize
    from layoutray.cli.train import train as finetune
    from layoutray.cli.train import train as pretrain
    from layoutray.cli.train_folder import train_folder as train

    __version__: str

__all__ = [
    "__version__",
    "answer",
    "encode",
    "evaluate",
    "finetune",
    "ingest",
    "load_extractor",
    "open_pages",
    "predict",
    "pretrain",
    "read_pages",
    "serve",
    "synthesize",
    "train",
]

PLACES = {
    "answer": "cli.answer:answer",
    "encode": "cli.encode:encode",
    "evaluate": "cli.evaluate:measure",
    "finetune": "cli.train:train",
    "ingest": "cli.ingest:ingest",
    "load_extractor": "api:load_extractor",
    "open_pages": "api:open_pages",
    "predict": "cli.predict:predict",
    "pretrain": "cli.train:train",
    "read_pages": "api:read_pages",
    "serve": "api:serve",
    "synthesize": "cli.synthesize:synthesize",
    "train": "cli.train_folder:train_folder",
}
"""Where each name of the Python API is: `MODULE:NAME`."""


def __getattr__(name: str) -> Any:
    # Imported on first use: some functions import PyTorch and Ray, which takes seconds; the version is read from files.
    if name == "__version__":
        return importlib.import_module("layoutray.version").VERSION
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from layoutray.cli.verbs import needs_extra

    module, _, attribute = PLACES[name].partition(":")
    with needs_extra(name):
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
