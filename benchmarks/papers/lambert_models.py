"""Models for the cost of a masked-language-modelling step: LAMBERT and transformers' RoBERTa of the same size."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from torch import nn
from transformers import RobertaForMaskedLM

from benchmarks.measure.training_step import StepCase
from benchmarks.papers.masked_models import LibraryModel, library_config, our_model
from layoutray import architectures
from layoutray.tensors import Scheduled

_PROGRESS = 0.25
"""Share of the training steps that are done; at this point half of the positions are dropped."""


def _roberta(attention: str, case: StepCase) -> nn.Module:
    size = architectures.load("lambert").sizes[case.size]
    return LibraryModel(RobertaForMaskedLM(library_config("roberta", size, case.length, attn_implementation=attention)))


def _lambert(case: StepCase, **changes: Any) -> nn.Module:
    model = our_model("lambert", case, core="roberta", segments=1, **changes)
    cast(Scheduled, model.encoder).set_progress(_PROGRESS)
    return model


MODELS: Mapping[str, Callable[[StepCase], nn.Module]] = {
    "RoBERTa, eager": partial(_roberta, "eager"),
    "RoBERTa, SDPA": partial(_roberta, "sdpa"),
    "LAMBERT": _lambert,
    "LAMBERT, no layout": partial(_lambert, layout="none", position_dropout="none"),
}
"""How each model is built.

Without layout, our encoder computes exactly what RoBERTa computes; our head decodes only masked tokens.
"""
