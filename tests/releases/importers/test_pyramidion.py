"""Import of fairseq checkpoints of the Pyramidion release, and its error messages."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled_document
from layoutray.cli.main import main
from layoutray.errors import CheckpointError
from layoutray.inference.generation import TextGenerator
from layoutray.nn.beam_search import BeamSearchSettings, beam_search
from layoutray.nn.decoder import DecoderConfig
from layoutray.tasks import HasDecoder
from tests.jobs import page
from tests.releases.importers.fairseq import ARGS, OURS, pieces, read, weights, write_checkpoint


def test_settings_become_the_recipe_and_weights_the_model(tmp_path: Path) -> None:
    made = read(write_checkpoint(tmp_path / "theirs", ARGS, weights()))
    assert made.recipe.model.items() >= ({"arch": "pyramidion"} | OURS).items()
    assert (made.recipe.name, made.recipe.task.name, made.recipe.max_length) == ("theirs", "summary", 64)
    assert made.tokenizer.mask_id == 49
    state, theirs = made.model.state_dict(), weights()
    assert torch.equal(state["encoder.word_embedding.weight"], theirs["encoder.embed_tokens.weight"])
    assert torch.equal(state["encoder.layers.2.feed_forward.contract.bias"], theirs["encoder.layers.2.fc2.bias"])
    assert torch.equal(state["encoder.pools.1.scorer.classifier.weight"], theirs["encoder.pooler.scorer.1.weight"])
    assert torch.equal(
        state["head.decoder.layers.0.cross_attention.key.weight"], theirs["decoder.layers.0.encoder_attn.k_proj.weight"]
    )
    assert made.provenance["fresh"] == []
    assert isinstance(made.recipe.task, HasDecoder)
    writing = made.recipe.task.writing
    decoder = DecoderConfig(layers=1, heads=4, feed_forward=64, positions="reference_parity")
    assert (writing.max_length, writing.begin, writing.decoder) == (24, "end", decoder)


def test_the_decoder_can_be_dropped(tmp_path: Path) -> None:
    made = read(write_checkpoint(tmp_path / "theirs", ARGS, weights()), "task.name=masked_lm")
    assert torch.equal(
        made.model.state_dict()["encoder.layers.2.feed_forward.contract.bias"], weights()["encoder.layers.2.fc2.bias"]
    )
    assert sorted(made.provenance["fresh"]) == sorted(
        f"head.{name}" for name in ("decoder.bias", "dense.bias", "dense.weight", "norm.bias", "norm.weight")
    )


def test_an_imported_model_starts_texts_with_the_end_token(tmp_path: Path) -> None:
    made = read(write_checkpoint(tmp_path / "theirs", ARGS, weights()))
    (whole,), end = [[page(0)]], made.tokenizer.end_id
    example, _ = unlabelled_document(whole, made.tokenizer, 64)
    assert example is not None
    batch = collate([example], made.tokenizer.pad_id)
    encoded = made.model.encoded(batch)
    best = beam_search(made.model.head.decoder, encoded, BeamSearchSettings(end, end, 24)).tokens[0, 0]
    words = best[best != made.tokenizer.pad_id]
    (text,) = TextGenerator(made, torch.device("cpu")).write([whole])
    assert text.text == made.tokenizer.ids_to_text(words.tolist())
    target = torch.tensor([[7, 8, end]])
    chances = made.model.head(torch.tensor([[end, 7, 8]]), encoded).log_softmax(-1)
    loss = made.model(replace(batch, labels=target))
    torch.testing.assert_close(loss, -chances.gather(-1, target[..., None]).sum())


def test_older_checkpoints_have_their_settings_in_args(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "theirs", ARGS, weights())
    torch.save({"args": Namespace(**ARGS), "model": weights()}, folder / "checkpoint_best.pt")
    (folder / "checkpoint_best.pt").rename(folder / "checkpoint_last.pt")
    assert read(folder, "model.padding=masked").recipe.model.items() >= (OURS | {"padding": "masked"}).items()
    torch.save({"model": weights()}, folder / "checkpoint_last.pt")
    with pytest.raises(CheckpointError, match=r"settings neither in cfg\.model nor in args"):
        read(folder)


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({"use_sparse_attn": "pooler_no_block"}, {"block": 0}),
        ({"sort_back": 0}, {"order": "score"}),
        ({"enc_layers_and_token_width": {1: 32, 2: 8}}, {}),
    ],
)
def test_variants_are_imported(settings: dict[str, Any], changes: dict[str, Any], tmp_path: Path) -> None:
    made = read(write_checkpoint(tmp_path / "theirs", ARGS | settings, weights()))
    assert made.recipe.model.items() >= (OURS | changes).items()


@pytest.mark.parametrize(("attention", "block"), [("only_blockwise", 16), ("none", 0)])
def test_a_model_without_pooling_is_imported(attention: str, block: int, tmp_path: Path) -> None:
    state = {name: tensor for name, tensor in weights().items() if "pooler" not in name}
    args = ARGS | {"encoder_pooling": "lambda", "use_sparse_attn": attention}
    made = read(write_checkpoint(tmp_path / "theirs", args, state))
    assert (made.recipe.model["block"], made.recipe.model["halvings"]) == (block, [0, 0, 0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation_fn": "gelu"}, "activation_fn 'gelu'; pyramidion supports only 'relu'"),
        ({"encoder_layers": None}, r"checkpoint_best\.pt lacks encoder_layers"),
        ({"chunk_size": None}, "lacks chunk_size"),
        ({"enc_layers_and_token_width": "{1: 20}"}, "64 tokens cannot be halved to 20"),
        ({"enc_layers_and_token_width": "32"}, r"enc_layers_and_token_width '32'; it must be like"),
        (
            {"decoder_layers": 2},
            r"do not fit the settings in checkpoint_best\.pt: missing decoder\.layers\.1\.encoder_attn\.k_proj\.bias",
        ),
        ({"decoder_layers": None}, r"checkpoint_best\.pt lacks decoder_layers"),
        ({"decoder_normalize_before": True}, "decoder_normalize_before True; pyramidion supports only False"),
        (
            {"share_decoder_input_output_embed": False},
            "share_decoder_input_output_embed False; pyramidion supports only True",
        ),
        (
            {"encoder_layers": 2},
            r"do not fit the settings in checkpoint_best\.pt: .*unexpected encoder\.layers\.2\.fc1\.bias",
        ),
        ({"encoder_embed_dim": 36}, r"decoder\.embed_tokens\.weight is \(50, 32\), the model needs \(50, 36\)"),
    ],
)
def test_unsupported_settings_are_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    args = {name: value for name, value in (ARGS | settings).items() if value is not None}
    with pytest.raises(CheckpointError, match=message):
        read(write_checkpoint(tmp_path / "theirs", args, weights()))


def test_a_pointer_which_the_release_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"decoder\.copying is 'pointer'; decoders of the release do not copy"):
        read(write_checkpoint(tmp_path / "theirs", ARGS, weights()), "task.writing.decoder.copying=pointer")


def test_missing_and_unexpected_parameters_are_listed_by_the_releases_names(tmp_path: Path) -> None:
    state = weights() | {"encoder.extra": torch.ones(1)}
    del state["encoder.layers.0.self_attn.q_proj.bias"]
    with pytest.raises(
        CheckpointError, match=r"missing encoder\.layers\.0\.self_attn\.q_proj\.bias; unexpected encoder\.extra$"
    ):
        read(write_checkpoint(tmp_path / "theirs", ARGS, state))


def test_the_output_projection_must_equal_the_embeddings(tmp_path: Path) -> None:
    state = weights() | {"decoder.output_projection.weight": torch.ones(50, 32)}
    with pytest.raises(
        CheckpointError, match=r"decoder\.output_projection\.weight in .*checkpoint_best\.pt differs from"
    ):
        read(write_checkpoint(tmp_path / "theirs", ARGS, state))


def test_files_that_are_not_fairseq_checkpoints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        CheckpointError, match=r"no checkpoint in .*; it needs checkpoint_best\.pt or checkpoint_last\.pt"
    ):
        read(tmp_path)
    folder = write_checkpoint(tmp_path / "theirs", ARGS, weights())
    for wrong, message in (
        (weights(), "is not a fairseq checkpoint: it has no weights under 'model'"),
        ({"model": {"encoder.version": torch.ones(1)}}, r"no encoder\.embed_tokens\.weight"),
        ({"model": {"epoch": 3}}, "contains more than named tensors"),
        ({"model": weights(), "code": torch.nn.Linear}, "contains code, which is never run"),
    ):
        torch.save(wrong, folder / "checkpoint_best.pt")
        with pytest.raises(CheckpointError, match=message):
            read(folder)


def test_the_vocabulary_must_number_pieces_like_the_dictionary(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "theirs", ARGS, weights())
    lines = [f"{piece} 7" for piece in pieces()[4:-1]] + ["madeupword0000 0"]
    (folder / "dict.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    read(folder)
    (folder / "dict.txt").write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n", encoding="utf-8")
    with pytest.raises(
        CheckpointError, match=r"'▁word1' is number 4 in .*dict\.txt, but 5 in the vocabulary of the same folder"
    ):
        read(folder)


def test_the_command_writes_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_checkpoint(tmp_path / "theirs", ARGS, weights()), tmp_path / "ours"
    assert main(["import", "pyramidion", str(folder), str(out)]) == 0
    assert "(pyramidion, task summary)" in capsys.readouterr().err
    assert checkpoint.load(out).recipe.model["halvings"] == [0, 1, 2]
