"""Initial weights: BERT's, and those of fairseq's transformers."""

import torch
from torch import nn

from layoutray.nn.attention import MultiHeadAttention
from layoutray.nn.lsh_attention import LshAttention

_BERT_DEVIATION, _BERT_WIDTH = 0.02, 768


def standard_deviation(width: int) -> float:
    """BERT's 0.02 at its width of 768; in proportion to 1/√width at others, where projections then change the size of states as much.

    With 0.02 throughout, narrow models start with attention that is all but uniform.
    """
    return _BERT_DEVIATION * (_BERT_WIDTH / width) ** 0.5


@torch.no_grad()
def initialise(module: nn.Module, width: int) -> None:
    """Redraw all weights below `module`: linear and embedding normal, biases 0, LayerNorm gain 1 and shift 0.

    The padding row of an embedding is drawn like any other: in the Skim-Attention release it is not zero.

    Args:
        width: of the model's states, which decides the `standard_deviation`.
    """
    for part in module.modules():
        if isinstance(part, nn.LayerNorm):
            part.reset_parameters()
        elif isinstance(part, nn.Linear | nn.Embedding):
            for name, parameter in part.named_parameters(recurse=False):
                if name == "bias":
                    parameter.zero_()
                else:
                    parameter.normal_(0.0, standard_deviation(width))


@torch.no_grad()
def initialise_as_fairseq(module: nn.Module, width: int) -> None:
    """Redraw embeddings and attention below `module`; all other layers have torch's own initial weights in fairseq too.

    Embeddings are N(0, 1/width) with a padding row of zeros. Queries, keys and values are Xavier-uniform with gain 1/√2, attention's
    output projections Xavier-uniform without bias.
    """
    for part in module.modules():
        if isinstance(part, nn.Embedding):
            part.weight.normal_(0.0, width**-0.5)
            if part.padding_idx is not None:
                part.weight[part.padding_idx] = 0
        elif isinstance(part, MultiHeadAttention | LshAttention):
            for projection in (part.query, part.value, *((part.key,) if isinstance(part, MultiHeadAttention) else ())):
                nn.init.xavier_uniform_(projection.weight, gain=0.5**0.5)
            nn.init.xavier_uniform_(part.output.weight)
            part.output.bias.zero_()
