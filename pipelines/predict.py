"""Answer a folder of files, or pages that were ingested before, with a trained extractor, or with a model that writes texts."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from layoutray import checkpoint, recipe, tracking
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import predict
from layoutray.cluster.write import write
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.tasks import WritesTexts
from pipelines import _terminal as terminal
from pipelines._progress import ProgressShown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray predict", description=__doc__)
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    parser.add_argument("source", help="folder of images and PDFs, or a folder that `layoutray ingest` has written")
    parser.add_argument(
        "--out", required=True, help="folder for the answers: parquet/ and jsonl/, and fields/ of whole documents"
    )
    parser.add_argument(
        "--recipe", default="ingest-folder", help="how files are read, where SOURCE is not ingested yet"
    )
    parser.add_argument("--workers", type=int, default=1, help="model replicas")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each replica")
    parser.add_argument(
        "--beams", type=int, default=1, help="of models that write: hypotheses that are kept at each word; 1 is greedy"
    )
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    reading = recipe.load_ingest(options.recipe, options.set)
    if options.dry_run:
        return terminal.show_plan(
            reading, {"checkpoint": options.checkpoint, "source": options.source, "answers": options.out}
        )
    folder, _ = tracking.checkpoint_folder(options.checkpoint, options.tracking_uri or tracking.default_uri())
    replicas = Replicas(options.workers, options.gpus)
    with ProgressShown() as progress, connect():
        out = sources.absolute(options.out)
        ingested = sources.absolute(options.source)
        if not sources.exists(DataSet(ingested).manifest):
            ingested = sources.join(out, "ingested")
            ingest(sources.absolute(options.source), ingested, reading, progress=progress)
        if isinstance(checkpoint.load(folder).recipe.task, WritesTexts):
            done = write(folder, ingested, out, replicas=replicas, beams=options.beams, progress=progress)
            terminal.say(
                f"{done.documents} documents answered, {_failures(done.failed, ingested)}; texts in {options.out}"
            )
            if done.cut:
                terminal.say(f"{done.cut} of them are longer than the model takes: compare `tokens` and `tokens_read`")
        else:
            done = predict(folder, ingested, out, replicas=replicas, progress=progress)
            failures = _failures(done.failed, ingested)
            terminal.say(f"{done.pages} pages answered, {failures}; {done.entities} entities; answers in {options.out}")
        if done.fields or done.without_fields:
            terminal.say(f"{done.fields} values of fields; {done.without_fields} documents without any")
    sys.stdout.write(json.dumps(asdict(done)) + "\n")
    return 0


def _failures(failed: int, ingested: str) -> str:
    """How many there are, and what lists their reasons, but for documents without words."""
    return f"{failed} of them with a failure" + (f" (see `layoutray dead-letters list {ingested}`)" if failed else "")


if __name__ == "__main__":
    sys.exit(terminal.run(main))
