"""The model card of a checkpoint: what it was trained on, how good it is, what it is for, and what it is not for."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.inference.extractor import entity_types
from layoutray.prepare.manifest import Manifest
from layoutray.releases.library_form import takes_boxes
from layoutray.tasks import TagsWords
from layoutray.version import VERSION

_NAMES = {
    "f1": "entity F1",
    "field_f1": "field F1",
    "area_f1": "area F1",
    "record_f1": "record F1",
    "precision": "entity precision",
    "recall": "entity recall",
    "perplexity": "perplexity",
    "ece": "expected calibration error of word labels",
    "ece_uncalibrated": "the same without temperature",
    "field_ece": "expected calibration error of fields",
    "accepted_at_99": "share of answers accepted at 99 % precision",
    "support": "entities",
}
"""Metrics that the card shows, in this order, and what they are called."""


_LONGEST = 200
"""Characters of a name in the card."""
_ENTITIES = {ord(letter): f"&#{ord(letter)};" for letter in "<>[]"}
_WORDS = 'words = ["Date:", "2026-03-04", "Total", "12.50"]'
_BOXES = "boxes = [[80, 60, 160, 75], [170, 60, 300, 75], [80, 700, 160, 715], [700, 700, 790, 715]]  # thousandths"

_LIBRARY = f"""\
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForTokenClassification.from_pretrained("FOLDER")
{_WORDS}
inputs = tokenizer(words, is_split_into_words=True, truncation=True, return_tensors="pt")
word_of = inputs.word_ids()
BOXES
with torch.no_grad():
    logits = model(**inputs).logits[0]
for token, word in enumerate(word_of):
    if word is not None and word != word_of[token - 1]:  # the first token of a word has its label
        print(words[word], model.config.id2label[int(logits[token].argmax())])"""

_PLACES = f"""{_BOXES}
inputs["bbox"] = torch.tensor([[[0, 0, 0, 0] if word is None else boxes[word] for word in word_of]])
"""

_OURS = f"""\
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from layoutray.auto_classes import page_inputs# also registers the model

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForTokenClassification.from_pretrained("FOLDER")
{_WORDS}
{_BOXES}
inputs = page_inputs(model, tokenizer, words, boxes, (850, 1100))
with torch.no_grad():
    logits = model(**inputs).logits[0]
word_of = inputs["word_index"][0].tolist()
for token, word in enumerate(word_of):
    if word >= 0 and word != word_of[token - 1]:  # the first token of a word has its label
        print(words[word], model.config.id2label[int(logits[token].argmax())])"""

_MASKED = """\
from transformers import AutoModelForMaskedLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForMaskedLM.from_pretrained("FOLDER")"""


@dataclass(frozen=True)
class Evaluated:
    """What was measured on one set of pages.

    Attributes:
        split: name of the selection, for example `test`.
        metrics: by the names of reports.
        words: word sources of the pages; empty if the report does not say.
    """

    folders: Sequence[str]
    split: str
    metrics: Mapping[str, float]
    words: str = ""

    @property
    def name(self) -> str:
        return ", ".join(map(_base, self.folders)) or "the data it was trained on"

    @property
    def lane(self) -> str:
        """Word sources of the pages: those of the report, else those of the manifests."""
        found = (word for folder in self.folders for word in _origin(folder)[1])
        return _plain(self.words or " and ".join(dict.fromkeys(found))) or "unknown"

    def shown(self) -> Iterator[tuple[str, float]]:
        """The metrics that the card shows."""
        return ((name, self.metrics[name]) for name in _NAMES if name in self.metrics)


def model_card(
    loaded: Checkpoint,
    evaluated: Sequence[Evaluated],
    *,
    needs_layoutray: bool,
    licence: str = "",
    data_licences: Sequence[str] = (),
    languages: Sequence[str] = (),
) -> str:
    """The text of `README.md`: metadata with `model-index` as YAML, and the sections of a model card.

    Args:
        evaluated: on pages with truth; the evaluation on dev that the checkpoint keeps is added.
        needs_layoutray: the transformers library has no such model.
        licence: of the model, an identifier such as `apache-2.0`; empty if the exporting person does not state it.
        data_licences: of the data, as text; empty if not stated.
        languages: codes such as `en`.
    """
    # The evaluation on dev by which the checkpoint was chosen.
    kept = {name.removeprefix("dev."): value for name, value in loaded.metrics.items() if name.startswith("dev.")}
    on_dev = Evaluated(tuple(loaded.provenance.get("pages_from", ())), "dev", kept)
    every = [on_dev, *evaluated] if kept else evaluated
    sections = {
        "Use": _example(loaded, needs_layoutray),
        "Training data": _data(loaded, data_licences),
        "Evaluation": _evaluation(loaded, every),
        "Calibration": _calibration(loaded, every),
        "Intended use": [
            "To find values in scanned or digital documents of the kind that it was trained on, with a person who "
            "looks at what is uncertain. Measure it on your own pages first."
            if loaded.labels
            else "To start trainings on pages of documents. It predicts masked words, and finds nothing by itself."
        ],
        "Limits": [
            "- It sees words and their boxes, not the picture of a page. Boxes are thousandths of width and height.",
            f"- It reads windows of at most {loaded.recipe.max_length} tokens and does not see from one to another.",
            "- It depends on how words were read: with another OCR program, or with other errors, it is worse.",
            "- It was measured only on the data above. Other templates, languages and document types are worse.",
            "- It can repeat what stands in its training data; it takes no decision about people.",
        ],
    }
    body = [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items()]
    parts = [f"# {_plain(loaded.recipe.name)}", _summary(loaded, needs_layoutray), *body]
    metadata = _metadata(loaded, every, licence, languages).to_yaml()
    return f"---\n{metadata}\n---\n\n" + "\n\n".join(parts) + "\n"


def _metadata(loaded: Checkpoint, every: Sequence[Evaluated], licence: str, languages: Sequence[str]) -> ModelCardData:
    task = "token-classification" if isinstance(loaded.recipe.task, TagsWords) else "fill-mask"
    results = [
        EvalResult(
            task_type=task,
            dataset_type="-".join(re.findall(r"[^\W_]+", one.name.lower())) or "unknown",
            dataset_name=one.name,
            dataset_split=one.split,
            dataset_args={"words": one.lane},
            metric_type=name,
            metric_name=_NAMES[name],
            metric_value=round(value, 6),
        )
        for one in every
        for name, value in one.shown()
    ]
    try:
        return ModelCardData(
            language=[*languages] or None,
            license=licence or None,
            library_name="transformers",
            pipeline_tag=task,
            tags=["layoutray", "document-understanding", loaded.recipe.arch],
            model_name=loaded.recipe.name,
            eval_results=results or None,
        )
    except ValueError as error:
        raise InputError(f"the metadata of the model card is not valid: {error}") from error


def _summary(loaded: Checkpoint, needs_layoutray: bool) -> str:
    recipe = loaded.recipe
    kind = _plain(recipe.model.get("model_type", recipe.arch))
    sentences = [f"Trained by layoutray: architecture `{kind}`, task `{recipe.task.name}`."]
    if loaded.labels:
        sentences.append(f"It labels each word of a page with one of {len(loaded.labels)} labels.")
    if found := entity_types(loaded.labels):
        sentences.append(f"They stand for {', '.join(f'`{_plain(name)}`' for name in found)}.")
    alone = "It loads with the transformers library alone."
    sentences.append("`layoutray` must be installed to load it." if needs_layoutray else alone)
    return " ".join(sentences)


def _example(loaded: Checkpoint, needs_layoutray: bool) -> list[str]:
    """The example as lines of Markdown. `FOLDER` stands for the exported folder."""
    if not loaded.labels:
        code = _MASKED
    elif needs_layoutray:
        code = _OURS
    else:
        code = _LIBRARY.replace("BOXES\n", _PLACES if takes_boxes(loaded) else "")
    return ["```python", code, "```"]


def _data(loaded: Checkpoint, data_licences: Sequence[str]) -> list[str]:
    provenance = loaded.provenance
    lines = [f"- {_origin(folder)[0]}" for folder in provenance.get("pages_from", ())]
    lines = lines or ["- The checkpoint does not say what it was trained on."]
    if start := provenance.get("init"):
        lines.append(f"- Training started from {', '.join(map(_base, start))}.")
    if folder := provenance.get("imported_from"):
        lines.append(f"- The weights were imported from {_base(folder)}.")
    licences = "; ".join(data_licences) or "not stated. Ask for it before you use or publish the model."
    return [*lines, f"- Licences of the data: {licences}"]


def _evaluation(loaded: Checkpoint, every: Sequence[Evaluated]) -> list[str]:
    if not every:
        return ["No evaluation was kept with the checkpoint."]
    lines = ["| data | split | words from | metric | value |", "| --- | --- | --- | --- | --- |"]
    for one in every:
        lane = one.lane
        lines += [
            f"| {one.name} | {_plain(one.split)} | {lane} | {_NAMES[name]} | {value:.4g} |"
            for name, value in one.shown()
        ]
    seed = f"One training with seed {loaded.recipe.seed}; the spread over seeds was not measured here."
    chosen = "Pages of `dev` chose the step at which training was saved, so figures on `dev` are optimistic. "
    on_dev = chosen if any(one.split == "dev" for one in every) else ""
    return [*lines, "", f"{seed} {on_dev}Made with layoutray {VERSION}, checkpoint `{loaded.version}`."]


def _calibration(loaded: Checkpoint, every: Sequence[Evaluated]) -> list[str]:
    lines = [
        f"Divide the logits by the temperature {loaded.temperature:.4g} before the softmax; it was fitted on dev and "
        "is in `config.json` under `layoutray`."
        if loaded.temperature != 1.0
        else "Probabilities are the softmax of the logits. No temperature was fitted."
    ]
    measured = [(one, one.metrics["ece"]) for one in every if "ece" in one.metrics]
    lines += [
        f"On {one.name}, {_plain(one.split)}, the expected calibration error of word labels is {ece:.4g}."
        for one, ece in measured
    ]
    return lines if measured else [*lines, "How far the probabilities can be trusted was not measured."]


def _origin(folder: str) -> tuple[str, Sequence[str]]:
    """Where the words in `folder` came from, from its manifest if it exists here: for the card, and as pages state it.

    The latter is `ocr`, `annotation`, …; empty without a manifest.
    """
    name = _base(folder)
    try:
        manifest = Manifest.read(folder)
    except InputError:
        return f"`{name}`; its manifest is not at hand.", ()
    splits = ", ".join(f"{count} {split}" for split, count in sorted(manifest.splits.items()))
    engines = f" ({_plain(', '.join(manifest.engines))})" if manifest.engines else ""
    words = _plain(" and ".join(manifest.words_from))
    reader = _plain(manifest.settings.get("reader", ""))
    text = f"`{name}`, read by `{reader}`: {splits} pages; words from {words}{engines}."
    return text, tuple(manifest.words_from)


def _base(folder: str) -> str:
    """The last part of a folder or address: the rest is the exporting person's."""
    return _plain(folder.rstrip("/").rpartition("/")[2])


def _plain(text: Any) -> str:
    """`text`, which comes from a file, as one line that Markdown shows as it is."""
    line = "".join(letter for letter in " ".join(str(text).split()) if letter.isprintable())[:_LONGEST]
    return line.replace("`", "'").replace("|", "/").translate(_ENTITIES)
