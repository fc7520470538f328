"""The description of a checkpoint as an MLflow model: loader, signature, input example and requirements."""

import json
import tempfile
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from layoutray import checkpoint
from layoutray.recipe import recipes
from layoutray.recipe.ingest import load_ingest
from layoutray.tasks import TagsWords, WritesTexts
from layoutray.version import VERSION

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own types
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import AnyType, Array, Object, Property

RECOGNITION = "ingest-folder"
"""Ingest recipe whose section `recognition` says how the model reads files; that of `layoutray serve`."""

# MLflow takes no integers as doubles, and JSON has integers. The model itself says what a box must be.
_WORD = Object([Property("text", DataType.string), Property("box", Array(AnyType()))])
_PAGE = Object([Property("width", DataType.long), Property("height", DataType.long), Property("words", Array(_WORD))])
_SIGNATURE = ModelSignature(
    inputs=Schema(
        [
            ColSpec(DataType.binary, "file", required=False),
            ColSpec(Array(_PAGE), "pages", required=False),
        ]
    )
)
_GENERATED = {"pages": [{"width": 100, "height": 100, "words": [{"text": "1", "box": [10.0, 10.0, 20.0, 20.0]}]}]}


@contextmanager
def files(folder: Path) -> Generator[tuple[list[Path], dict[str, str]]]:
    """The files of the checkpoint in `folder`, with those that make it an MLflow model of flavour `python_function`.

    Also the facts about it by name: task, architecture, and how it reads files. A checkpoint that answers no
    documents, because it was only pretrained, is no MLflow model and reads no files.
    """
    own = [folder / name for name in (*checkpoint.FILES, checkpoint.EXAMPLE)]
    recipe = recipes.from_stored(checkpoint.read_json(folder / "recipe.json"))
    facts = {"task": recipe.task.name, "arch": recipe.arch}
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch, "model")
        if isinstance(recipe.task, TagsWords | WritesTexts):
            facts |= {"recognition": RECOGNITION, "ocr_engine": load_ingest(RECOGNITION).recognition.engine}
            _save(model, folder / checkpoint.EXAMPLE, facts)
        yield [*filter(Path.is_file, own), *model.glob("*")], facts


def _save(folder: Path, own: Path, facts: Mapping[str, str]) -> None:
    """Write the files of the MLflow model.

    Args:
        own: the input example, if it exists, else it is a generated page.
        facts: metadata of the model.
    """
    example = json.loads(own.read_bytes()) if own.is_file() else _GENERATED
    mlflow.pyfunc.save_model(
        str(folder),
        loader_module="layoutray.pyfunc",
        signature=_SIGNATURE,
        input_example=[{"pages": example["pages"]}],
        model_config={"recipe": RECOGNITION},
        metadata=dict(facts),
        pip_requirements=[f"layoutray=={VERSION}"],
    )
