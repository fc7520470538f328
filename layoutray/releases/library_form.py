"""The model of the transformers library that computes the same as a checkpoint, if the library has one."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from layoutray.architectures.hf import Peer, library_config
from layoutray.architectures.lambert import Lambert
from layoutray.architectures.layoutlmv3 import LayoutLMv3
from layoutray.checkpoint import Checkpoint
from layoutray.nn.relative_bias import BIAS_SCALE
from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import BERT_HEAD, CLASSIFIER, KEPT_TWICE, LAYOUTLMV3, ROBERTA_HEAD, bert, peer_table

_FEWEST_OF_TWO_LAYERS = 10
"""From so many labels on, the library's LayoutLMv3 has a head of two layers; ours has one."""


@dataclass(frozen=True)
class LibraryForm:
    """A checkpoint as the library describes it.

    Attributes:
        weights: under our names.
    """

    config: PreTrainedConfig
    names: Callable[[frozenset[str]], NameTable]
    weights: Mapping[str, Tensor]

    def build(self, auto_class: Any, labels: Mapping[str, Any]) -> Any:
        """The library's model with the weights, in evaluation mode.

        Args:
            auto_class: builds a model with the right head from a configuration, e.g. `AutoModelForMaskedLM`.
            labels: `id2label` and `label2id` of the configuration.
        """
        self.config.update(dict(labels))
        model = auto_class.from_config(self.config).eval()
        names = self.names(frozenset(model.state_dict()))
        ours = {name: tensor for name, tensor in self.weights.items() if not names.is_ours_only(name)}
        left = model.load_state_dict({names.to_theirs(name): tensor for name, tensor in ours.items()}, strict=False)
        extra = [name for name in left.missing_keys if not names.is_dropped(name)]
        extra += left.unexpected_keys
        assert not extra, f"missing or unexpected: {extra}"
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "pooler." in name:
                    parameter.zero_()  # LayoutLM is not built without one; nothing reads it
        model.tie_weights()
        return model


def library_form(loaded: Checkpoint) -> LibraryForm | None:
    """How the library describes `loaded`; None if no model of the library computes the same.

    Its LiLT needs a width that six divides.
    """
    encoder, settings, vocabulary = loaded.model.encoder, loaded.recipe.arch_config, loaded.tokenizer
    sizes = {"vocab_size": vocabulary.vocab_size, "pad_id": vocabulary.pad_id}
    weights = dict(loaded.model.state_dict())
    if isinstance(encoder, Peer):
        kind = settings.model_type
        if kind == "lilt" and settings.hidden % 6:
            return None
        return LibraryForm(copy.deepcopy(encoder.model.config), lambda names: peer_table(kind, names), weights)
    if isinstance(encoder, Lambert) and settings.layout == settings.relative_bias == "none":
        # A LAMBERT without layout is a BERT or RoBERTa whose positions have the weight 1 − q.
        share = weights["encoder.position_dropout.share"]
        weights["encoder.position_embedding.weight"] = (1 - share) * weights["encoder.position_embedding.weight"]
        head = ROBERTA_HEAD if settings.core == "roberta" else BERT_HEAD
        names = NameTable(
            (*bert(f"{settings.core}.", "encoder."), *head, CLASSIFIER),
            dropped=KEPT_TWICE,
            ours_only=("encoder.position_dropout",),
        )
        return LibraryForm(library_config(settings.core, settings, **sizes), lambda _: names, weights)
    if isinstance(encoder, LayoutLMv3) and len(loaded.labels) < _FEWEST_OF_TWO_LAYERS:
        # The library counts positions from pad id + 1, and knows no scale of biases.
        if settings.core == "bert":
            positions = weights["encoder.position_embedding.weight"]
            unused = positions.new_zeros(vocabulary.pad_id + 1, positions.shape[1])
            weights["encoder.position_embedding.weight"] = torch.cat([unused, positions])
        if settings.relative_bias == "scaled":
            for name in weights:
                if name.startswith("encoder.relative_bias."):
                    weights[name] = BIAS_SCALE * weights[name]
        more = {"coordinate_size": settings.coordinate_size, "shape_size": settings.shape_size, "visual_embed": False}
        return LibraryForm(library_config("layoutlmv3", settings, **sizes, **more), lambda _: LAYOUTLMV3, weights)
    return None


def takes_boxes(loaded: Checkpoint) -> bool:
    """Whether the library's model reads boxes, under the name `bbox`."""
    encoder = loaded.model.encoder
    return isinstance(encoder, LayoutLMv3) or (isinstance(encoder, Peer) and encoder.takes_boxes)
