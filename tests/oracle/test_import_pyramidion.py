"""Imported models of the Pyramidion release, from fairseq checkpoints, against their original states."""

from pathlib import Path

import torch

from layoutray import checkpoint
from tests.oracle.test_pyramidion import CASES, LOGITS, STATES, reference
from tests.releases.importers.fairseq import read as read_release
from tests.releases.importers.fairseq import write_checkpoint


@CASES
@torch.no_grad()
def test_an_imported_model_gives_the_releases_states_and_logits(file: Path, tmp_path: Path) -> None:
    known = reference(file)
    released = write_checkpoint(tmp_path / "theirs", known.case.facts["args"], known.case.group("sd"))
    checkpoint.save(tmp_path / "ours", read_release(released))
    model = checkpoint.load(tmp_path / "ours").model
    encoded = model.encoder(known.batch)
    torch.testing.assert_close(
        encoded.states, known.case.tensors["out/encoder_out"].transpose(0, 1), atol=STATES, rtol=0
    )
    logits = model.head(known.case.tensors["in/prev_output_tokens"], encoded)
    torch.testing.assert_close(logits, known.case.tensors["out/decoder_logits"], atol=LOGITS, rtol=0)
