"""What the task of a checkpoint can do. The only module of this package that asks."""

from layoutray import tasks
from layoutray.checkpoint import Checkpoint
from layoutray.tasks import Task, Writes
from layoutray.tasks.summary import Summary


def task_of(loaded: Checkpoint) -> Task:
    """The task of a checkpoint."""
    return tasks.load(loaded.recipe.task.name)


def tags_words(loaded: Checkpoint) -> bool:
    """Whether the model gives each word a label, so that it finds entities."""
    return bool(loaded.labels)


def generates_texts(loaded: Checkpoint) -> bool:
    """Whether the model reads whole documents and generates texts: field values or summaries."""
    return isinstance(task_of(loaded), Writes)


def generates_summaries(loaded: Checkpoint) -> bool:
    """Whether the generated texts are summaries, which ROUGE scores."""
    return isinstance(task_of(loaded), Summary)
