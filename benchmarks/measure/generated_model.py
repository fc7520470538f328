"""An untrained model that answers like a trained one: a few of the words are fields."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch

from layoutray import checkpoint, tokenizer
from layoutray.checkpoint import Checkpoint
from layoutray.devices import CPU
from layoutray.document import Page
from layoutray.inference.extractor import Extractor
from layoutray.recipe import recipes
from layoutray.tasks import TagsWords, fields_of
from layoutray.tasks.word_labels import TokenClassificationHead

_SHARE_OF_FIELDS = 0.03
"""Share of the tokens that the model takes for a part of a field."""


def save_model(folder: Path, pages: Sequence[Page], size: str) -> None:
    """Save a model for SROIE's fields with a vocabulary of the words of `pages`.

    Args:
        size: of the recipe's architecture: tiny, small or base.
    """
    recipe = recipes.load("finetune-sroie", [f"model.size={size}"])
    task = cast(TagsWords, recipe.task)
    vocabulary = tokenizer.train_wordpiece((word.text for page in pages for word in page.words), 8000)
    labels = task.label_names([[f"B-{name}" for name in fields_of(recipe.task)]])
    model = checkpoint.build_model(recipe, vocabulary, labels).eval()
    made = Checkpoint(recipe=recipe, labels=labels, tokenizer=vocabulary, model=model, metrics={}, provenance={})
    extractor = Extractor(made, recipe.name, CPU)
    scores = torch.cat(extractor.probabilities(extractor.tagging.windows(pages))).log()
    lead = (scores[:, 1:].amax(-1) - scores[:, 0]).quantile(1 - _SHARE_OF_FIELDS)
    with torch.no_grad():
        cast(TokenClassificationHead, model.head).classifier.bias[0] += lead
    checkpoint.save(folder, made)
