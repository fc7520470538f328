"""One training step of masked language modelling: LAMBERT beside the library's RoBERTa of the same size."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from torch import nn
from transformers import RobertaForMaskedLM

from layoutray import architectures
from layoutray.bench.masked_models import LibraryModel, library_config, our_model
from layoutray.bench.step_speed import Case
from layoutray.tensors import Scheduled

_DROPPED = 0.25
"""Of a training's steps: where half of the positions are dropped."""


def _roberta(attention: str, case: Case) -> nn.Module:
    size = architectures.load("lambert").sizes[case.size]
    return LibraryModel(RobertaForMaskedLM(library_config("roberta", size, case.length, attn_implementation=attention)))


def _lambert(case: Case, **changes: Any) -> nn.Module:
    made = our_model("lambert", case, core="roberta", segments=1, **changes)
    cast(Scheduled, made.encoder).set_progress(_DROPPED)
    return made


MODELS: Mapping[str, Callable[[Case], nn.Module]] = {
    "RoBERTa, eager": partial(_roberta, "eager"),
    "RoBERTa, SDPA": partial(_roberta, "sdpa"),
    "LAMBERT": _lambert,
    "LAMBERT, no layout": partial(_lambert, layout="none", position_dropout="none"),
}
"""How each is built. Without layout, ours is RoBERTa number by number, but for the head, which decodes masked tokens alone."""
