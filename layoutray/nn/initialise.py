"""Weight initialisation as in BERT and as in fairseq's transformers."""

import torch
from torch import nn

from layoutray.nn.attention import HasProjections

_BERT_DEVIATION, _BERT_WIDTH = 0.02, 768


def standard_deviation(width: int) -> float:
    """Standard deviation of initial weights: BERT's 0.02 at width 768, and proportional to 1/√width at other widths.

    Projections then scale states equally at every width. With 0.02 at every width, narrow models start with nearly
    uniform attention.
    """
    return _BERT_DEVIATION * (_BERT_WIDTH / width) ** 0.5


@torch.no_grad()
def initialise(module: nn.Module, width: int) -> None:
    """Redraw all weights of `module`: linear and embedding weights normal, biases 0, LayerNorm gain 1 and shift 0.

    The padding row of an embedding is drawn like the other rows; in the Skim-Attention release it is not zero either.

    Args:
        width: width of the model's states; it determines the `standard_deviation`.
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
    """Redraw the embeddings and attention weights of `module`; other layers keep torch's weights, as in fairseq.

    Embeddings are N(0, 1/width) with a padding row of zeros. The projections to queries, keys and values are
    Xavier-uniform with gain 1/√2; the output projections of attention are Xavier-uniform with bias 0.
    """
    for part in module.modules():
        if isinstance(part, nn.Embedding):
            part.weight.normal_(0.0, width**-0.5)
            if part.padding_idx is not None:
                part.weight[part.padding_idx] = 0
        elif isinstance(part, HasProjections):
            for projection in part.projections():
                nn.init.xavier_uniform_(projection.weight, gain=0.5**0.5)
            nn.init.xavier_uniform_(part.output.weight)
            part.output.bias.zero_()
