"""Models for the cost of a masked-language-modelling step: Skimformer, LongSkimformer, LayoutLM and Longformer."""

from collections.abc import Callable, Mapping
from functools import partial

from torch import nn
from transformers import LayoutLMForMaskedLM, LongformerForMaskedLM

from benchmarks.measure.training_step import StepCase
from benchmarks.papers.masked_models import LibraryModel, library_config, our_model
from layoutray import architectures


def _layoutlm(attention: str, case: StepCase) -> nn.Module:
    size = architectures.load("hf").sizes[case.size]
    return LibraryModel(
        LayoutLMForMaskedLM(library_config("layoutlm", size, case.length, attn_implementation=attention)), boxes=True
    )


def _longformer(case: StepCase) -> nn.Module:
    size = architectures.load("hf").sizes[case.size]
    return LibraryModel(
        LongformerForMaskedLM(library_config("longformer", size, case.length, attention_window=size.window))
    )


MODELS: Mapping[str, Callable[[StepCase], nn.Module]] = {
    "Skimformer": partial(our_model, "skimformer"),
    "Skimformer, no contextualiser": partial(our_model, "skimformer", contextualiser_layers=0),
    "LayoutLM, eager": partial(_layoutlm, "eager"),
    "LayoutLM, SDPA": partial(_layoutlm, "sdpa"),
    "LayoutLM, our head": partial(our_model, "hf", model_type="layoutlm"),
    "Longformer": _longformer,
    "LongSkimformer": partial(our_model, "longskimformer"),
}
"""How each model is built."""
