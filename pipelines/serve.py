"""Answer documents over HTTP with a trained extractor, or with a model that writes summaries or fields, until Ctrl-C or SIGTERM."""

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Sequence

from layoutray import checkpoint, ocr, recipe, tracking
from layoutray.cluster.connect import connect
from layoutray.cluster.serve import ServeSettings, running
from layoutray.cluster.serving.limits import Limits
from layoutray.cluster.serving.replicas import load_model, served_path
from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray serve", description=__doc__)
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    parser.add_argument("--recipe", default="ingest-folder", help="how files are read: its section `recognition`")
    parser.add_argument(
        "--host", default="127.0.0.1", help="0.0.0.0 opens the endpoint to the network, without authentication"
    )
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--ocr-replicas", type=int, default=1, help="processes that read pages")
    parser.add_argument("--model-replicas", type=int, default=1, help="processes that hold the model")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each model replica")
    parser.add_argument(
        "--beams", type=int, default=1, help="of models that write: hypotheses that are kept at each word; 1 is greedy"
    )
    parser.add_argument("--timeout", type=float, default=Limits().timeout_s, help="seconds that a document may take")
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    reading = recipe.load_ingest(options.recipe, options.set)
    if options.dry_run:
        return terminal.show_plan(
            reading, {"checkpoint": options.checkpoint, "host": options.host, "port": options.port}
        )
    folder, version = tracking.checkpoint_folder(options.checkpoint, options.tracking_uri or tracking.default_uri())
    return serve(
        ServeSettings(
            checkpoint=folder,
            model_version=version,
            recognition=reading.recognition,
            limits=Limits(timeout_s=options.timeout),
            ocr_replicas=options.ocr_replicas,
            model_replicas=options.model_replicas,
            gpus_per_model=options.gpus,
            beams=options.beams,
            host=options.host,
            port=options.port,
        )
    )


def serve(settings: ServeSettings) -> int:
    """Serve until the process is told to stop; says where, and how to call it."""
    # A missing engine or a broken checkpoint is one clear line here, and a pile of retries once the replicas start.
    model = load_model(checkpoint.load(settings.checkpoint), settings.beams)
    ocr.load(settings.recognition.engine).version(settings.recognition.tesseract)
    with connect(), contextlib.suppress(KeyboardInterrupt):
        for number in (signal.SIGINT, signal.SIGTERM):  # not before: connecting sets Ray's own
            signal.signal(number, signal.default_int_handler)
        with running(settings) as url:
            terminal.say(
                f"serving at {url} (description at {url}/docs); try: curl -F file=@page.png {url}{served_path(model)}"
            )
            threading.Event().wait()
    terminal.say("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(main))
