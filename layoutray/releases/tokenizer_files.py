"""The tokenizer of a checkpoint as files that `AutoTokenizer` loads, for text that is split into words already."""

from itertools import chain
from pathlib import Path

import tokenizers
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from layoutray.errors import CheckpointError
from layoutray.tokenizer import Tokenizer

_SAMPLE = ("Invoice", "No.", "12.50", "2026-03-04", "Straße,", "(EUR)", "a@b.org", "№7")
"""Words of which both tokenizers must make the same tokens."""


def write_tokenizer(folder: Path, vocabulary: Tokenizer, max_length: int) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`. Special tokens surround the words, as in our windows.

    Args:
        max_length: tokens of a window, at most.

    Raises:
        CheckpointError: if the library cuts words differently.
    """
    inner = tokenizers.Tokenizer.from_str(vocabulary.inner.to_str())
    pad, start, end, mask, unknown = (inner.id_to_token(number) for number in vocabulary.special_ids)
    inner.post_processor = TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(start, vocabulary.start_id), (end, vocabulary.end_id)],
    )
    if isinstance(inner.pre_tokenizer, ByteLevel):
        inner.pre_tokenizer.add_prefix_space = True  # ours puts a blank before each word
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=pad,
        cls_token=start,
        sep_token=end,
        mask_token=mask,
        unk_token=unknown,
        model_max_length=max_length,
        model_input_names=["input_ids", "attention_mask"],
    )
    words = [word for word in _SAMPLE if vocabulary.inner.encode(word, add_special_tokens=False).ids]
    expected = [vocabulary.start_id, *chain.from_iterable(vocabulary.words_to_ids(words)), vocabulary.end_id]
    found = made(words, is_split_into_words=True)["input_ids"]
    if found != expected:
        raise CheckpointError(
            f"the transformers library cuts {words} into the tokens {found}, but the checkpoint into {expected}; "
            "only vocabularies of WordPiece and of byte pairs can be exported"
        )
    made.save_pretrained(folder)
