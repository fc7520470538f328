"""All verbs of `layoutray`: name, summary and function. Imports none of them, so that `--help` is fast."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from layoutray.errors import MissingDependencyError


@dataclass(frozen=True, slots=True)
class Verb:
    """One command. `function` is `.MODULE:FUNCTION` in `layoutray.cli`; it takes arguments, returns the exit status."""

    summary: str
    function: str


VERBS = {
    "train": Verb(
        "Train and measure a model of a folder of labelled documents: all steps in one.", ".train_folder:main"
    ),
    "synthesize": Verb("Draw forms and receipts with known values, to try layoutray without data.", ".synthesize:main"),
    "ingest": Verb("Read documents with OCR and write their pages, dead letters and a manifest.", ".ingest:main"),
    "mix": Verb("Combine several sets of pages into one, by the shares of a recipe.", ".mix:main"),
    "encode": Verb("Cut pages into training examples: windows of tokens, or whole documents.", ".encode:main"),
    "pretrain": Verb("Train a model on unlabelled pages, from scratch or from checkpoints.", ".train:pretrain"),
    "finetune": Verb("Train a model for a task, usually from a pretrained checkpoint.", ".train:finetune"),
    "sweep": Verb("Train a recipe with several values of one key and pick the best on dev.", ".sweep:main"),
    "learning-curve": Verb(
        "Train a recipe on growing numbers of documents, and predict what more labels would bring.",
        ".learning_curve:main",
    ),
    "compare": Verb("Train several recipes on labelled pages and report which is the best.", ".compare:main"),
    "import": Verb("Convert a released model into a checkpoint.", ".import_model:main"),
    "evaluate": Verb("Measure a checkpoint on labelled pages.", ".evaluate:main"),
    "calibrate": Verb("Choose on labelled pages the confidence from which answers need no check.", ".calibrate:main"),
    "select": Verb("Choose the documents to label next: those from which the model would learn most.", ".select:main"),
    "promote": Verb("Make the candidate of a registered model its champion, if it is not worse.", ".promote:main"),
    "promise": Verb(
        "Say what reviewed answers show of the accepted ones, and accept more where they allow it.", ".promise:main"
    ),
    "drift": Verb("Say whether and since when documents have changed, without labels.", ".drift:main"),
    "rollback": Verb("Make the former champion of a registered model its champion again.", ".rollback:main"),
    "answer": Verb("Answer fields of which only the names are given, on files without labels.", ".answer:main"),
    "predict": Verb("Answer a folder of files, or ingested pages, in bulk.", ".predict:main"),
    "review": Verb("Show the answers in a folder to people, who correct them in a browser.", ".review:main"),
    "serve": Verb("Serve a model over HTTP until Ctrl-C or SIGTERM.", ".serve:main"),
    "keys create": Verb("Create a key of the endpoint and print it, once.", ".keys:create"),
    "keys list": Verb("Print all keys of the endpoint, without their texts, as JSON.", ".keys:list_keys"),
    "keys revoke": Verb("End the validity of a key of the endpoint.", ".keys:revoke"),
    "recipes": Verb("List the shipped recipes, or print one.", ".recipes:main"),
    "demo": Verb("Run the whole chain on generated pages: OCR, training, evaluation, endpoint.", ".demo:main"),
    "benchmark ocr": Verb("Measure word recall and speed of OCR settings.", ".benchmark_ocr:main"),
    "dead-letters list": Verb(
        "Count dead letters by stage and reason, and print them as JSON.", ".dead_letters:list_letters"
    ),
    "dead-letters show": Verb("Print everything known about dead letters of a page or document.", ".dead_letters:show"),
    "dead-letters replay": Verb("Process dead letters of an ingest again, and no other page.", ".dead_letters:replay"),
    "export alto": Verb("Write the words of each document as an ALTO 4 file.", ".export.documents:alto"),
    "export dataset": Verb(
        "Write labelled pages as a data set for other programs: Parquet, FUNSD or COCO.", ".export.dataset:main"
    ),
    "export hocr": Verb("Write the words of each document as an hOCR file.", ".export.documents:hocr"),
    "export huggingface": Verb(
        "Write a checkpoint as a folder of the transformers library, with a model card.", ".export.huggingface:main"
    ),
    "export label-studio": Verb(
        "Write pages as Label Studio tasks, with a model's answers as suggestions.", ".export.label_studio:main"
    ),
    "export lexicon": Verb(
        "Write the words that occur on many pages, so that OCR reads them better.", ".export.lexicon:main"
    ),
    "export searchable-pdf": Verb(
        "Write each document as a PDF file with its own pictures and invisible words.",
        ".export.documents:searchable_pdf",
    ),
    "export values": Verb(
        "Write what form fields of fillable PDF files state as the values of documents.", ".export.values:main"
    ),
    "picture answers": Verb(
        "Draw the values that a model has found on the pages of a document.", ".picture.answers:main"
    ),
    "picture reliability": Verb("Draw the accuracy of a checkpoint over its confidence.", ".picture.reliability:main"),
    "picture words": Verb(
        "Draw the words of pages with boxes, confidences and reading order, to judge OCR.", ".picture.words:main"
    ),
}
"""By full name; a name of two words belongs to a group."""

GROUPS = {
    "benchmark": "Measure OCR on your own pages and machine.",
    "dead-letters": "List, show and retry pages and documents that failed.",
    "export": "Write pages, or a checkpoint, in the format of another program.",
    "keys": "Create, list and revoke the keys of the endpoint.",
    "picture": "Draw answers, recognised words and reliability diagrams.",
}
"""Summaries of the groups."""

EXTRAS: Mapping[str, Sequence[str]] = {
    "ocr": ("benchmark ocr", "export alto", "export hocr", "export lexicon", "export searchable-pdf"),
    "model": ("import", "answer", "predict"),
    "tracking": ("rollback",),
    "train": (
        *("train", "synthesize", "encode", "pretrain", "finetune", "sweep", "learning-curve", "compare"),
        *("evaluate", "calibrate", "select", "promote", "promise", "drift", "export huggingface"),
        *("export label-studio", "picture answers", "picture reliability", "picture words"),
    ),
    "serve": ("review", "serve", "keys create", "keys list", "keys revoke"),
    "all": ("demo",),
}
"""The verbs that need each extra of `pip install 'layoutray[EXTRA]'`. The other verbs need none."""


@contextmanager
def needs_extra(name: str) -> Generator[None]:
    """Run a verb. Raises MissingDependencyError, which names the extra to install, if a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = next((extra for extra, verbs in EXTRAS.items() if name in verbs), None)
        if extra is None or (error.name or "").startswith("layoutray"):
            raise
        raise MissingDependencyError.of_extra(f"layoutray {name}", extra, error) from error
