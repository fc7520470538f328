"""BERT, RoBERTa, LayoutLM, LiLT and Longformer of the transformers library, with new initial weights.

They are the baselines of Skimformer and LongSkimformer and have the same sizes; `base` is the library's default
configuration, as in the paper's baselines. Only LayoutLM and LiLT use boxes.

Departures from the published models:
- No pooler: it is not used, and DDP does not accept parameters without gradient.
- `start = "gentle"` scales LayoutLM's coordinate tables down, because they are not trained when a training from a BERT
  starts.
- LayoutLM's end token has a box of zeros; its authors use 1000s.
- Longformer has no global tokens; its weights of global attention are not trained.
- LiLT's last layer does not train the part of the layout stream after attention, which no layer reads.
- The library's LiLT needs a width divisible by six. Here the linear layer after the six coordinate embeddings takes
  their actual total size, so other widths work too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig

from layoutray.architectures import Architecture, EncoderConfig, Parent, State, check_heads, check_ranges
from layoutray.errors import InputError
from layoutray.nn.block import LAYER_NORM_EPSILON
from layoutray.nn.gentle import scale_down
from layoutray.nn.initialise import initialise, standard_deviation
from layoutray.nn.weight_names import NameTable
from layoutray.tensors import Batch, Encoded

_POSITIONS = "model.embeddings.position_embeddings.weight"


@dataclass(frozen=True, kw_only=True)
class PeerConfig(EncoderConfig):
    """The defaults are the library's, i.e. those of BERT-base and LayoutLM-base.

    Attributes:
        model_type: the model's name in the library.
        start: `library` draws LayoutLM's coordinate tables as the library does; `gentle` takes a hundredth of that.
            Other models have no such tables.
        window: number of tokens that each token of Longformer sees, half of them on either side; even. Other models see
            all.
    """

    model_type: Literal["bert", "roberta", "layoutlm", "lilt", "longformer"] = "bert"
    start: Literal["library", "gentle"] = "library"
    segments: int = 2
    norm_epsilon: float = LAYER_NORM_EPSILON
    window: int = 512

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"window": 2})
        check_heads(self, "hidden", "heads")
        if self.window % 2:
            raise InputError(f"window is {self.window}; it must be even: half of it is on either side")
        if self.model_type == "lilt" and self.hidden // self.heads % 4:
            raise InputError(
                f"hidden / heads is {self.hidden // self.heads}; "
                "it must be divisible by four: LiLT's layout heads have a quarter of it"
            )


class Peer(nn.Module):
    """A model of the transformers library behind the `Encoder` protocol."""

    def __init__(self, config: PeerConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        windows = {"attention_window": config.window} if config.model_type == "longformer" else {}
        more = {"initializer_range": standard_deviation(config.hidden), **windows}
        described = library_config(config.model_type, config, vocab_size=vocab_size, pad_id=pad_id, **more)
        self.model: Any = AutoModel.from_config(described)
        # LayoutLM cannot be built without a pooler; its output is not used.
        self.model.pooler = nn.Identity()
        self.norm_epsilon = config.norm_epsilon
        if config.model_type == "layoutlm" and config.start == "gentle":
            scale_down(getattr(self.model.embeddings, f"{side}_position_embeddings") for side in "xyhw")
        self.takes_boxes = config.model_type in ("layoutlm", "lilt")
        if config.model_type == "lilt":
            boxes = self.model.layout_embeddings
            boxes.box_linear_embeddings = nn.Linear(
                6 * boxes.x_position_embeddings.embedding_dim, boxes.box_linear_embeddings.out_features
            )
            initialise(boxes.box_linear_embeddings, config.hidden)
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(not _is_unused(name, config))

    @property
    def word_embedding(self) -> nn.Embedding:
        return cast(nn.Embedding, self.model.get_input_embeddings())

    def forward(self, batch: Batch) -> Encoded:
        layout = {"bbox": batch.boxes} if self.takes_boxes else {}
        states = self.model(input_ids=batch.input_ids, attention_mask=batch.mask.long(), **layout).last_hidden_state
        return Encoded.of_all_tokens(states, batch.mask)


def _is_unused(name: str, config: PeerConfig) -> bool:
    """Whether the output of the encoder does not depend on the parameter called `name`."""
    last_layout_stream = name.startswith(f"encoder.layer.{config.layers - 1}.") and any(
        part in name for part in ("layout_value.", "layout_output.", "layout_intermediate.")
    )
    return "_global." in name or last_layout_stream


def _count_from_own_first_position(
    given: State, own: Mapping[str, Tensor], *, theirs: Mapping[str, Any], ours: Mapping[str, Any]
) -> State:
    """`given` with each position in the row that our model reads it from; the rows before the first stay as drawn."""
    rows, table = given[_POSITIONS], own[_POSITIONS].clone()
    positions = rows[len(rows) - theirs["max_length"] :]
    first = len(table) - ours["max_length"]
    if table[first:].shape != positions.shape:
        return given  # of another length or width, which the caller reports
    table[first:] = positions
    return given | {_POSITIONS: table}


def library_config(model_type: str, config: Any, *, vocab_size: int, pad_id: int, **more: Any) -> PreTrainedConfig:
    """The library's configuration of a `model_type` with the sizes of `config`, and with its settings `more`."""
    # All but BERT and LayoutLM count positions from pad_id + 1.
    first_position = 0 if model_type in ("bert", "layoutlm") else pad_id + 1
    return AutoConfig.for_model(
        model_type,
        vocab_size=vocab_size,
        pad_token_id=pad_id,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.attention_dropout,
        max_position_embeddings=config.max_length + first_position,
        type_vocab_size=config.segments,
        layer_norm_eps=config.norm_epsilon,
        **more,
    )


ARCHITECTURE = Architecture(
    name="hf",
    config=PeerConfig,
    sizes={
        "tiny": PeerConfig(hidden=128, layers=2, heads=4, feed_forward=512, window=64),
        "small": PeerConfig(hidden=256, layers=4, heads=4, feed_forward=1024, window=128),
        "minilm": PeerConfig(start="gentle", hidden=384, layers=6, feed_forward=1536),
        "base": PeerConfig(),
    },
    build=Peer,
    initialise=initialise,
    # A model starts from one of another type with what both have: LayoutLM and LiLT from a BERT.
    inherits={
        "hf": Parent(
            NameTable((("model", "model"),)),
            shared={name: name for name in ("layers", "heads", "norm_epsilon")},
            adapt=_count_from_own_first_position,
        )
    },
)
