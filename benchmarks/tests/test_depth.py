import json
from pathlib import Path

import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.commands import depth
from benchmarks.measure.depth import CopyModel, DepthSizes, configuration, measure_depth
from layoutray.architectures.pyramidion import Pyramidion
from layoutray.errors import InputError
from layoutray.nn.decoder import DecoderConfig
from layoutray.tensors import Batch

SIZES = DepthSizes(width=16, heads=2, length=32, block=8, written=4, batch=2, decoder_layers=1, vocabulary=50)


def test_training_and_generation_of_every_encoder_are_timed() -> None:
    found = measure_depth(SIZES, ["blockwise", "deep_pyramidion"], depth=4, rounds=1)
    assert [(one.encoder, one.depth) for one in found] == [("blockwise", 4), ("deep_pyramidion", 4)]
    assert all(one.training > 0 and one.generation > 0 for one in found)


@pytest.mark.parametrize(
    ("depth", "halvings"),
    [(1, (2,)), (2, (2, 2)), (3, (0, 2, 2)), (6, (0, 0, 2, 2, 0, 0)), (8, (0, 0, 2, 2, 0, 0, 0, 0))],
)
def test_pooling_layers_at_other_depths_follow_the_paper(depth: int, halvings: tuple[int, ...]) -> None:
    assert configuration("deep_pyramidion", depth, SIZES).halvings == halvings
    assert configuration("blockwise", depth, SIZES).halvings_per_layer == (0,) * depth


def test_all_parameters_get_gradients_and_the_given_number_of_words_is_generated() -> None:
    torch.manual_seed(0)
    encoder = Pyramidion(configuration("blockwise", 2, SIZES), vocab_size=50, pad_id=0)
    model = CopyModel(encoder, DecoderConfig(layers=1, heads=2, feed_forward=32), 4)
    batch = Batch(
        input_ids=torch.randint(3, 50, (2, 32)),
        boxes=torch.zeros(2, 32, 4, dtype=torch.int64),
        mask=torch.ones(2, 32, dtype=torch.bool),
    )
    words = model.generate(batch)
    assert words.shape == (2, 1, 4)
    assert not torch.isin(words, torch.tensor([0, 2])).any(), "no padding and no end token"
    first = model(batch)
    first.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_rows_are_printed_and_the_figure_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = ["--width", "16", "--heads", "2", "--length", "32", "--block", "8", "--written", "4", "--vocabulary", "50"]
    assert main(["depth", "--depths", "2", "3", *sizes, "--rounds", "1", "--out", "depth.png"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["depth"], row["encoder"]) for row in rows] == [
        (depth, encoder) for depth in (2, 3) for encoder in ("blockwise", "deep_pyramidion")
    ]
    assert (tmp_path / "depth.png").read_bytes().startswith(b"\x89PNG")


def test_invalid_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="must be at least 1, and written at most length"):
        depth.main(["--length", "8", "--written", "9"])
