"""`layoutray answer`: answer the fields that the caller names, on documents without labels."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import RecipeOptions, option
from layoutray.cli.verbs import needs_extra
from layoutray.errors import InputError

if TYPE_CHECKING:
    from layoutray.document.field_type import FieldType
    from layoutray.recipe.ingest import IngestRecipe

_SHOWN = 20
"""Documents of the table on the terminal."""

_OPTIONS = {
    "files": option(
        nargs="+", help="images and PDFs, or one folder of them, or one that `layoutray ingest` has written"
    ),
    "fields": option(
        "--fields",
        required=True,
        help="what to answer: names with commas in any language, each with a type after a colon, or without one, for "
        'example "vendor, date, total:amount"; or a .toml file with a section [task.fields]',
    ),
    "model": option(
        "--model",
        metavar="CHECKPOINT",
        help="model of task fields_by_name: `start`, which is in the package, a checkpoint folder, s3:// address, or "
        "models:/NAME@ALIAS (default: %(default)s)",
    ),
    "out": option(
        "--out",
        required=True,
        help="folder for answers.csv, for what `layoutray predict` writes, and for the model of these fields (model/); "
        "a killed job resumes",
    ),
    "recipe": option("--recipe", help="ingest recipe of files (default: %(default)s)"),
    "workers": option("--workers", type=checked.positive, help="as of `layoutray predict`"),
    "gpus": options.gpus("replica"),
    "tracking_uri": options.tracking_uri(),
    "sample": options.sample(),
    "price": options.price(),
    **options.declared(RecipeOptions),
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = options.parse_for("answer", _OPTIONS, arguments, answer)
    plan_only, sample, price = (given.pop(name) for name in ("dry_run", "sample", "price"))
    if plan_only:
        return _show_plan(given, sample, price)
    for document in answer(**given):
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    return 0


def _show_plan(given: Mapping[str, Any], sample: int, price: float | None) -> int:
    from layoutray.cli.predict import answering, load
    from layoutray.cli.shared import cost
    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster.ingest import plan_ingest
    from layoutray.inference.by_name import named
    from layoutray.recipe.ingest import load_ingest

    fields = _fields(given["fields"])
    recipe = load_ingest(given["recipe"], _reading(fields, given["overrides"]))
    _, _, loaded = load(given["model"], given["tracking_uri"])
    answer_page, files = answering(named(loaded, fields)), _checked(given["files"], recipe)
    with ProgressDisplay() as progress:
        tasks = [task for file in files for task in plan_ingest(file, recipe, progress=progress).page_tasks]
    shown = {name: asdict(kind) for name, kind in fields.items()}
    plan = {"model": given["model"], "files": files, "fields": shown, "answers": given["out"], "pages": len(tasks)}
    if tasks and sample:
        plan["estimate"] = cost.of_pages(tasks, recipe, sample, given["workers"], price, answer_page)
    return terminal.show_plan(recipe, plan)


@needs_extra("answer")
def answer(
    files: str | Path | Sequence[str | Path],
    fields: str,
    *,
    model: str | Path = "start",
    out: str | Path,
    recipe: str = "ingest-folder",
    workers: int | None = None,
    gpus: float | None = None,
    tracking_uri: str = "",
    overrides: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Answer fields of which only the names are given, on documents without labels.

    The model for these fields is written to `out`/model: a checkpoint that `predict`, `serve`, `evaluate` and
    `calibrate` take. An interrupted call is continued by the next one.

    Args:
        files: paths or addresses of images and PDFs, or one folder.
        fields: names with commas, each with a type after a colon, or without one; or a .toml file with [task.fields].
        model: of task `fields_by_name`: `start`, folder, s3:// address, or `models:/NAME@ALIAS`.
        out: folder for answers.csv, the model, and what `predict` writes.
        recipe, workers, gpus, tracking_uri, overrides: as of `predict`.

    Returns:
        For each readable document its `document` (address) and its `fields`: a list of `field`, `value`, `content`
        and `confidence`, one for each value; and a `reason`, if a form field of a PDF file states it.

    Raises:
        InputError: for fields that cannot be read, a file that does not exist, and an `out` of another job.
        CheckpointError: if the model is not of task `fields_by_name`.
    """
    # Imported here because Ray and PyTorch take seconds, for which `--help` shall not wait.
    from layoutray import checkpoint
    from layoutray.cli.predict import load, predict
    from layoutray.cli.shared import output_folder
    from layoutray.inference.by_name import named
    from layoutray.recipe.ingest import load_ingest
    from layoutray.store import folder_kind, job, sources
    from layoutray.store.output_lock import working_on

    asked, folder = _fields(fields), output_folder.usable(out, folder_kind.ANSWERS)
    overrides = _reading(asked, overrides)
    given = _checked([files] if isinstance(files, str | Path) else files, load_ingest(recipe, overrides))
    _, _, loaded = load(str(model), tracking_uri)
    answering = named(loaded, asked)
    place = sources.join(folder, "model")
    question = {
        "model": loaded.version,
        "fields": {name: _stated(kind) for name, kind in asked.items()},
        "files": given,
    }
    with working_on(place):  # `predict` locks the folder
        job.claim(place, question)
        checkpoint.save(place, answering)
        table, source = sources.join(folder, "answers.csv"), _one_source(given, folder)
        predict(place, source, out=folder, recipe=recipe, workers=workers, gpus=gpus, csv=table, overrides=overrides)
    documents = _documents(folder)
    _show(documents, tuple(asked))
    return documents


def _checked(files: Sequence[str | Path], recipe: "IngestRecipe") -> list[str]:
    """The absolute paths or addresses. Raises InputError for one that cannot be read, and for two of one name."""
    from layoutray.cli.shared import output_folder
    from layoutray.prepare.discovery import check_source
    from layoutray.store import sources
    from layoutray.store.data_set import is_ingested

    given = [output_folder.existing(file) for file in files]
    for file in given:
        if not is_ingested(file):
            check_source(file, recipe)
    names = [sources.name(file) for file in given]
    if len(set(names)) < len(names):
        raise InputError(f"two of the files have the same name: {', '.join(sorted(names)[:5])}; answer them apart")
    return given


def _fields(text: str) -> "dict[str, FieldType]":
    """The fields in the text of `--fields`, or in the file that it names."""
    from layoutray import config, tasks
    from layoutray.tasks.field_names import asked_fields

    if not text.endswith(".toml"):
        return asked_fields(text)
    section = config.read_toml(Path(text)).get("task", {}).get("fields")
    if not isinstance(section, Mapping):
        raise InputError(f'{text} has no section [task.fields]; add one, for example total = {{ type = "amount" }}')
    return dict(tasks.fields_of(config.build(tasks.load("entities_bioes"), {"fields": section}, "task")))


def _reading(fields: "Mapping[str, FieldType]", overrides: Sequence[str]) -> list[str]:
    """Keys of the ingest recipe: pages are searched for marks if a field is a mark or a signature."""
    return [
        *(["recognition.marks=detect"] if any(kind.type in ("mark", "signature") for kind in fields.values()) else []),
        *overrides,
    ]


def _stated(kind: "FieldType") -> str:
    """What a field has other than the defaults, as one text."""
    return ", ".join(f"{key}={value}" for key, value in asdict(kind).items() if value != getattr(type(kind)(), key))


def _one_source(files: Sequence[str], out: str) -> str:
    """The one of `files`, a folder or a file, or a folder with copies of several: `out`/files."""
    from layoutray.store import shards, sources

    if len(files) == 1:
        return files[0]
    copies = sources.join(out, "files")
    for file in files:
        shards.write_bytes(sources.read_bytes(file), copies, sources.name(file))
    return copies


def _documents(folder: str) -> list[dict[str, Any]]:
    """The readable documents in a folder of answers, by address, with the values of their fields."""
    from layoutray.document.answers import form_reason
    from layoutray.store import shards
    from layoutray.store.answer_set import AnswerSet
    from layoutray.store.schema import ANSWERS, FIELDS

    answers = AnswerSet(folder)
    pages = shards.read(answers.tables, ANSWERS, ["source", "status"])
    readable = {row["source"] for row in pages.to_pylist() if row["status"] == "success"}
    found: dict[str, list[dict[str, Any]]] = {source: [] for source in sorted(readable)}
    if shards.shards(answers.fields):
        columns = ["source", "name", "value", "content", "confidence", "form_field", "drawn"]
        for row in shards.read(answers.fields, FIELDS, columns).to_pylist():
            source, name, form_field, drawn = (row.pop(key) for key in ("source", "name", "form_field", "drawn"))
            reason = {"reason": form_reason(form_field, drawn)} if form_field else {}
            found[source].append({"field": name, **row, **reason})
    return [{"document": source, "fields": values} for source, values in found.items()]


def _show(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    from layoutray.store import sources

    rows: list[list[str]] = []
    for document in documents[:_SHOWN]:
        cells: dict[str, list[str]] = {name: [] for name in names}
        for value in document["fields"]:
            form = "form, " if "reason" in value else ""
            cells[value["field"]].append(f"{value['content']} ({form}{value['confidence']:.0%})")
        rows.append([sources.name(document["document"]), *("; ".join(cells[name]) or "-" for name in names)])
    terminal.show_table("value (confidence); - is none", ("document", *names), rows)
    if len(documents) > _SHOWN:
        terminal.say(f"{len(documents) - _SHOWN} more documents are in answers.csv")
