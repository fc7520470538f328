import json
from pathlib import Path

import pytest
import torch

from layoutray.architectures.pyramidion import build
from layoutray.bench.depth import Sizes, Writer, configuration, measure
from layoutray.errors import InputError
from layoutray.nn.decoder import DecoderConfig
from layoutray.tensors import Batch
from pipelines.benchmark import main

SIZES = Sizes(width=16, heads=2, length=32, block=8, written=4, batch=2, decoder_layers=1, vocabulary=50)


def test_every_encoder_is_trained_and_writes_at_a_depth() -> None:
    found = measure(SIZES, ["blockwise", "deep_pyramidion"], depth=4, rounds=1)
    assert [(one.encoder, one.depth) for one in found] == [("blockwise", 4), ("deep_pyramidion", 4)]
    assert all(one.training > 0 and one.generation > 0 for one in found)


@pytest.mark.parametrize(
    ("depth", "halvings"),
    [(1, (2,)), (2, (2, 2)), (3, (0, 2, 2)), (6, (0, 0, 2, 2, 0, 0)), (8, (0, 0, 2, 2, 0, 0, 0, 0))],
)
def test_the_papers_pyramid_at_other_depths(depth: int, halvings: tuple[int, ...]) -> None:
    assert configuration("deep_pyramidion", depth, SIZES).halvings == halvings
    assert configuration("blockwise", depth, SIZES).halvings_per_layer == (0,) * depth


def test_a_step_learns_and_exactly_so_many_words_are_written() -> None:
    torch.manual_seed(0)
    encoder = build(configuration("blockwise", 2, SIZES), vocab_size=50, pad_id=0)
    writer = Writer(encoder, DecoderConfig(layers=1, heads=2, feed_forward=32), 4)
    batch = Batch(
        torch.randint(3, 50, (2, 32)), torch.zeros(2, 32, 4, dtype=torch.int64), torch.ones(2, 32, dtype=torch.bool)
    )
    words = writer.write(batch)
    assert words.shape == (2, 1, 4)
    assert not torch.isin(words, torch.tensor([0, 2])).any(), "neither padding nor the end"
    first = writer(batch)
    first.backward()
    assert all(parameter.grad is not None for parameter in writer.parameters())


def test_rows_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = ["--width", "16", "--heads", "2", "--length", "32", "--block", "8", "--written", "4", "--vocabulary", "50"]
    assert main(["depth", "--depths", "2", "3", *sizes, "--rounds", "1", "--out", "depth.png"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["depth"], row["encoder"]) for row in rows] == [
        (depth, encoder) for depth in (2, 3) for encoder in ("blockwise", "deep_pyramidion")
    ]
    assert (tmp_path / "depth.png").read_bytes().startswith(b"\x89PNG")


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="must be at least 1, and written at most length"):
        main(["depth", "--length", "8", "--written", "9"])
