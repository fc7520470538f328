"""Test folders in the format of the Skim-Attention release."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor

from layoutray import architectures
from layoutray.checkpoint import Checkpoint
from layoutray.nn.weight_names import NameTable, skim_attention
from layoutray.releases import importers
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tasks.word_labels import TokenClassificationHead
from tests.releases.reverse_import import state_to_theirs

BERT = {
    "model_type": "skimformer",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "hidden_layout_size": 48,
    "max_2d_position_embeddings": 1024,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
    "vocab_size": 60,
    "pad_token_id": 0,
    "layer_norm_eps": 1e-12,
    "initializer_range": 0.02,
}
SKIM = BERT | {
    "attention_head_size": 20,
    "skim_attention_head_size": 12,
    "use_1d_positions": False,
    "degrade_2d_positions": False,
    "contextualize_2d_positions": True,
    "num_hidden_layers_layout_encoder": 1,
    "num_attention_heads_layout_encoder": 4,
}
LONG = SKIM | {
    "model_type": "longskimformer",
    "pad_token_id": 1,
    "layer_norm_eps": 1e-5,
    "attention_window": 8,
    "vocab_size": 200,
}
MASK = {key: value for key, value in SKIM.items() if key != "attention_head_size"} | {
    "top_k": 6,
    "core_model_type": "layoutlm",
}
MASK |= {"model_type": "skimmingmask"}
EMBEDDINGS = BERT | {"model_type": "bertwithskimembed"}
MODELS: dict[str, tuple[dict[str, Any], NameTable]] = {
    "skimformer": (SKIM, skim_attention.SKIMFORMER),
    "longskimformer": (LONG, skim_attention.LONGSKIMFORMER),
    "skimming_mask": (MASK, skim_attention.SKIMMING_MASK),
    "skim_embeddings": (EMBEDDINGS, skim_attention.SKIM_EMBEDDINGS),
}
OURS = {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64, "layout_hidden": 48}
SKIMMER = {"skim_head_size": 12, "contextualiser_layers": 1, "contextualiser_heads": 4}
SIZES: dict[str, dict[str, Any]] = {
    "skimformer": OURS | SKIMMER | {"head_size": 20, "max_length": 40},
    "longskimformer": OURS | SKIMMER | {"head_size": 20, "window": 8, "max_length": 2048},
    "skimming_mask": OURS | SKIMMER | {"core": "layoutlm", "top_k": 6, "max_length": 40},
    "skim_embeddings": OURS | {"max_length": 40},
}


def write_wordpiece(folder: Path, size: int) -> None:
    """BERT's `vocab.txt` of `size` pieces, its special tokens first."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##s"]
    (folder / "vocab.txt").write_text(
        "\n".join([*pieces, *(f"word{number}" for number in range(size - len(pieces)))]) + "\n"
    )


def write_byte_pairs(folder: Path, size: int) -> None:
    """RoBERTa's `vocab.json` and `merges.txt` of `size` pieces, its special tokens first."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġ", "t", "h", "Ġt", "Ġth"]
    pieces += sorted(set(ByteLevel.alphabet()) - set(pieces))
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces[:size])}))
    (folder / "merges.txt").write_text("#version: 0.2\nĠ t\nĠt h\n")


def write_release(folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> Path:
    """A folder as saved by the release's scripts, with a vocabulary of the size in `config`."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, sort_keys=True))
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / "model.safetensors")
    (write_byte_pairs if config["pad_token_id"] == 1 else write_wordpiece)(folder, config["vocab_size"])
    return folder


def weights(arch: str, num_labels: int = 0, **changes: Any) -> dict[str, Tensor]:
    """Random weights under the release's names, with a classifier of `num_labels` outputs or a masked-LM head."""
    theirs, names = MODELS[arch]
    architecture = architectures.load(arch)
    torch.manual_seed(5)
    encoder = architecture.build(
        architecture.config(**SIZES[arch] | changes), vocab_size=theirs["vocab_size"], pad_id=theirs["pad_token_id"]
    )
    head = TokenClassificationHead(encoder.width, num_labels, 0.1) if num_labels else MaskedLanguageModelHead(encoder)
    return state_to_theirs(names, TaskModel(encoder, head).state_dict())


def release(folder: Path, arch: str = "skimformer", num_labels: int = 3, **settings: Any) -> Path:
    return write_release(folder / "theirs", MODELS[arch][0] | settings, weights(arch, num_labels))


def read(folder: Path, *overrides: str) -> Checkpoint:
    return importers.load("skim-attention")(folder, overrides)


def rewrite(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
