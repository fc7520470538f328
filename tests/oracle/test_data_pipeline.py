"""Windows, boxes and labels against the Skim-Attention release's own data pipeline."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from layoutray import tokenizer
from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import Example
from layoutray.batching.windows import cut, first_pieces
from layoutray.document import Box, Page, Provenance, Word
from layoutray.tasks.entities import Entities
from layoutray.tokenizer import Tokenizer
from tests.oracle.cases import files


def read(file: Path) -> tuple[dict[str, Any], Tokenizer]:
    facts = json.loads(file.read_text(encoding="utf-8"))
    inner = tokenizers.Tokenizer(
        models.WordPiece({token: index for index, token in enumerate(facts["vocab"])}, unk_token="[UNK]")
    )
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return facts, tokenizer.wrap(inner)


def page(words: list[str], labels: list[str]) -> Page:
    tagged = tuple(Word(text=text, box=Box(0, 0, 1, 1), tag=label) for text, label in zip(words, labels, strict=True))
    return Page(
        doc_id="d",
        number=1,
        width=100,
        height=100,
        words=tagged,
        source="d.png",
        image="",
        split="train",
        provenance=Provenance(words="annotation", reason=""),
    )


def examples(facts: dict[str, Any], vocabulary: Tokenizer, max_length: int) -> list[Example]:
    """The documents of the oracle as our windows, labelled by our task; each label number has its own tag."""
    names = [f"B-{name}" for name in facts["label_names"]]
    made: list[Example] = []
    for number, (words, boxes, tags) in enumerate(zip(facts["words"], facts["boxes"], facts["tags"], strict=True)):
        document = page(words, [names[tag] for tag in tags])
        for window in cut(words, np.array(boxes, np.int32), vocabulary, max_length):
            targets = Entities().targets(document, window, names)
            assert targets is not None
            labels = np.array(targets, np.int32)
            made.append(
                Example(
                    doc_id=str(number),
                    page=1,
                    window=0,
                    input_ids=window.input_ids,
                    boxes=window.boxes,
                    word_index=window.word_index,
                    neighbours=window.neighbours,
                    page_size=(1, 1),
                    labels=labels,
                )
            )
    return made


@pytest.mark.parametrize("file", files("skim/data_pipeline.json"))
def test_ids_boxes_masks_and_first_piece_labels(file: Path) -> None:
    facts, vocabulary = read(file)
    cases = [case for case in facts["cases"] if not case["label_all_tokens"]]
    assert cases
    for case in cases:
        expected, length = case["result"], case["max_seq_length"]
        ours = examples(facts, vocabulary, length)
        assert [int(one.doc_id) for one in ours] == expected["overflow_to_sample_mapping"]
        batch = collate(ours, vocabulary.pad_id)
        assert batch.labels is not None
        longest = batch.input_ids.shape[1]
        pad = (0, length - longest)
        assert (
            np.pad(batch.input_ids.numpy(), ((0, 0), pad), constant_values=vocabulary.pad_id).tolist()
            == expected["input_ids"]
        )
        assert np.pad(batch.boxes.numpy(), ((0, 0), pad, (0, 0))).tolist() == expected["bbox"]
        assert np.pad(batch.mask.numpy(), ((0, 0), pad)).astype(int).tolist() == expected["attention_mask"]
        assert np.pad(batch.labels.numpy(), ((0, 0), pad), constant_values=IGNORED).tolist() == expected["labels"]


@pytest.mark.parametrize("file", files("skim/data_pipeline.json"))
def test_every_token_knows_its_word(file: Path) -> None:
    """With a label on all tokens, the release shows which word each came from."""
    facts, vocabulary = read(file)
    for case in [case for case in facts["cases"] if case["label_all_tokens"]]:
        for ours, labels in zip(
            examples(facts, vocabulary, case["max_seq_length"]), case["result"]["labels"], strict=True
        ):
            tags = facts["tags"][int(ours.doc_id)]
            assert [tags[word] if word >= 0 else IGNORED for word in ours.word_index] == labels[: len(ours.word_index)]
            assert first_pieces(ours.word_index).sum() == len(set(ours.word_index.tolist()) - {-1})
