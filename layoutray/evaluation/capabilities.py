"""What the task of a checkpoint can do. The only module of this package that asks."""

from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.tasks import TagsWords, Task, WritesTexts, document_fields_of


def tags_words(loaded: Checkpoint) -> bool:
    """Whether the model gives each word a label, and so finds entities."""
    return isinstance(loaded.recipe.task, TagsWords)


def word_tagger(loaded: Checkpoint) -> TagsWords:
    """The task of a model that labels words. Raises InputError for other tasks."""
    task = loaded.recipe.task
    if not isinstance(task, TagsWords):
        raise InputError(
            f"task {task.name} labels no words; use a checkpoint of a task that does, for example entities"
        )
    return task


def counted_metric(task: Task) -> str | None:
    """The F1 of a model of `task` that follows from counts of each document, by its name in reports.

    `field_f1` if the model answers fields, `f1` if it finds entities. None for other tasks, also for region labels,
    which are scored by area.
    """
    if document_fields_of(task):
        return "field_f1"
    return "f1" if isinstance(task, TagsWords) and task.objective[0] == "f1" else None


def generates_texts(loaded: Checkpoint) -> bool:
    """Whether the model reads whole documents and generates texts: field values or summaries."""
    return isinstance(loaded.recipe.task, WritesTexts)
