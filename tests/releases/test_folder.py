"""Contents of a released folder: weights without code, labels, a vocabulary."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from layoutray.errors import CheckpointError
from tests.releases.release import SKIM, read, release, rewrite, weights, write_release


def test_labels_come_from_a_file_or_the_configuration_or_are_numbered(tmp_path: Path) -> None:
    folder = release(tmp_path, id2label={"0": "LABEL_0", "1": "LABEL_1"})
    assert read(folder).labels == ("label_0", "label_1", "label_2")
    rewrite(folder, id2label=["a", "b", "c"])
    assert read(folder).labels == ("label_0", "label_1", "label_2")
    rewrite(folder, id2label={"2": "table", "0": "abstract", "1": "list"})
    assert read(folder).labels == ("abstract", "list", "table")
    (folder / "labels.json").write_text('["a", "b", "c"]')
    assert read(folder).labels == ("a", "b", "c")
    for wrong in (["a", "b"], ["a", "b", "b"], ["a", "b", 3], {"a": 1}):
        (folder / "labels.json").write_text(json.dumps(wrong))
        with pytest.raises(CheckpointError, match=r"labels\.json must be a list of 3 distinct names"):
            read(folder)


def test_a_tied_decoder_may_be_stored_once_and_must_not_differ(tmp_path: Path) -> None:
    state = weights("skimformer")
    decoder = state.pop("cls.predictions.decoder.weight")
    model: Any = read(write_release(tmp_path / "once", SKIM, state)).model
    assert torch.equal(model.head.decoder.weight, decoder)
    with pytest.raises(
        CheckpointError, match=r"word_embeddings\.weight in .* differs from the tensor that it is tied to"
    ):
        read(write_release(tmp_path / "twice", SKIM, state | {"cls.predictions.decoder.weight": decoder + 1}))


class _Opens:
    """Creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_a_torch_file_of_tensors_is_read_and_code_in_one_is_not_run(tmp_path: Path) -> None:
    folder, harm = release(tmp_path), tmp_path / "harm"
    state = load_file(folder / "model.safetensors")
    expected = read(folder).model.state_dict()
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"no weights in .*; it needs model\.safetensors or pytorch_model\.bin"):
        read(folder)
    file = folder / "pytorch_model.bin"
    torch.save(state, file)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in read(folder).model.state_dict().items())
    for wrong in (state | {"harm": _Opens(harm)}, state | {"epoch": 3}, [1, 2]):
        torch.save(wrong, file)
        with pytest.raises(
            CheckpointError,
            match=r"pytorch_model\.bin (is not a torch file of plain tensors|contains more than named tensors)",
        ):
            read(folder)
    file.write_bytes(b"")
    with pytest.raises(CheckpointError, match="is damaged, or contains code, which is never run"):
        read(folder)
    assert not harm.exists()


def test_half_precision_is_imported_as_single_precision(tmp_path: Path) -> None:
    folder = release(tmp_path)
    save_file({name: tensor.half() for name, tensor in weights("skimformer", 3).items()}, folder / "model.safetensors")
    assert {tensor.dtype for tensor in read(folder).model.state_dict().values()} == {torch.float32}


def test_a_folder_without_configuration_or_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no config\.json in"):
        read(tmp_path)
    folder = release(tmp_path)
    (folder / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match=r"no tokenizer\.json at .*vocab\.txt, or vocab\.json with merges\.txt"):
        read(folder)
