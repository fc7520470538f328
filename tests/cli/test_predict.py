"""`layoutray predict` before it reads anything: what cannot be answered is refused, and no folder is claimed."""

from pathlib import Path

import pytest

from layoutray.cli import predict
from layoutray.errors import CheckpointError
from tests.training.test_start import SKIMFORMER, trained


def test_a_model_that_answers_nothing_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    pretrained = trained(tmp_path / "model", SKIMFORMER)
    (tmp_path / "scans").mkdir()
    with pytest.raises(CheckpointError, match="is a model of task masked_lm, which finds no entities"):
        predict.main([pretrained, str(tmp_path / "scans"), "--out", str(tmp_path / "answers")])
    assert not (tmp_path / "answers").exists()
