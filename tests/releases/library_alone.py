"""Exported folders loaded by the transformers library in a process that cannot import layoutray.

This module must not import it either.
"""

import inspect
import sys
from collections.abc import Sequence

import torch
from safetensors.torch import save_file
from transformers import AutoModelForTokenClassification, AutoTokenizer
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


def label(words: Sequence[str], boxes: Sequence[Sequence[int]], folders: Sequence[str]) -> None:
    """Write the library's outputs for the page of `words` into each folder, as `outputs.safetensors`."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "layoutray"]:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]  (what Python takes as "cannot be imported")
    assert "layoutray" not in CONFIG_MAPPING, "the library knows its own models alone"
    for folder in folders:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForTokenClassification.from_pretrained(folder)
        inputs = tokenizer(list(words), is_split_into_words=True, return_tensors="pt")
        if "bbox" in inspect.signature(model.forward).parameters:
            places = [[0, 0, 0, 0] if word is None else boxes[word] for word in inputs.word_ids()]
            inputs["bbox"] = torch.tensor([places])
        with torch.no_grad():
            logits = model(**inputs).logits
        save_file({"logits": logits, "input_ids": inputs["input_ids"]}, f"{folder}/outputs.safetensors")
