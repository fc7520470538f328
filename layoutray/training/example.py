"""The example of a checkpoint: a request that the endpoint has a model answer before it serves it.

It has the layout of a window of the training data, and words of the vocabulary. No text of a document is in it.
"""

import itertools
from collections.abc import Sequence

from layoutray.batching.examples import Example
from layoutray.tensors import BOX_GRID
from layoutray.tokenizer import Tokenizer

_VOCABULARY = 256
"""Words of the vocabulary among which an example may choose, spread over all of it."""


def request_like(example: Example, tokenizer: Tokenizer) -> dict[str, object]:
    """The body of a request to `/v1/extract` with one page, which has as many words as the example, at their places."""
    first: dict[int, Sequence[int]] = {}
    for word, box in zip(example.word_index.tolist(), example.boxes.tolist(), strict=True):
        if word >= 0:
            first.setdefault(word, box)
    width, height = example.page_size
    words = [
        {
            "text": text,
            "box": [x0 * width / BOX_GRID, y0 * height / BOX_GRID, x1 * width / BOX_GRID, y1 * height / BOX_GRID],
        }
        for (x0, y0, x1, y1), text in zip(first.values(), itertools.cycle(_words(tokenizer)), strict=False)
    ]
    return {"pages": [{"width": width, "height": height, "words": words}]}


def _words(tokenizer: Tokenizer) -> Sequence[str]:
    """Words that are one token each; `1` if the vocabulary has none."""
    step = max(1, tokenizer.vocab_size // _VOCABULARY)
    texts = (tokenizer.ids_to_text([token]).strip() for token in range(0, tokenizer.vocab_size, step))
    return [text for text in texts if text.isalnum()] or ["1"]
