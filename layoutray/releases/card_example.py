"""The example of a model card: code that loads the folder and labels a page."""

from layoutray.checkpoint import Checkpoint
from layoutray.releases.library_form import takes_boxes

_WORDS = 'words = ["Date:", "2026-03-04", "Total", "12.50"]'
_BOXES = "boxes = [[80, 60, 160, 75], [170, 60, 300, 75], [80, 700, 160, 715], [700, 700, 790, 715]]  # thousandths"

_LIBRARY = f"""\
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForTokenClassification.from_pretrained("FOLDER")
{_WORDS}
inputs = tokenizer(words, is_split_into_words=True, truncation=True, return_tensors="pt")
word_of = inputs.word_ids()
BOXES
with torch.no_grad():
    logits = model(**inputs).logits[0]
for token, word in enumerate(word_of):
    if word is not None and word != word_of[token - 1]:  # the first token of a word has its label
        print(words[word], model.config.id2label[int(logits[token].argmax())])"""

_PLACES = f"""{_BOXES}
inputs["bbox"] = torch.tensor([[[0, 0, 0, 0] if word is None else boxes[word] for word in word_of]])
"""

_OURS = f"""\
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from layoutray.auto_classes import page_inputs# also registers the model

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForTokenClassification.from_pretrained("FOLDER")
{_WORDS}
{_BOXES}
inputs = page_inputs(model, tokenizer, words, boxes, (850, 1100))
with torch.no_grad():
    logits = model(**inputs).logits[0]
word_of = inputs["word_index"][0].tolist()
for token, word in enumerate(word_of):
    if word >= 0 and word != word_of[token - 1]:  # the first token of a word has its label
        print(words[word], model.config.id2label[int(logits[token].argmax())])"""

_MASKED = """\
from transformers import AutoModelForMaskedLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForMaskedLM.from_pretrained("FOLDER")"""


def example(loaded: Checkpoint, needs_layoutray: bool) -> list[str]:
    """The example as lines of Markdown. `FOLDER` stands for the exported folder."""
    if not loaded.labels:
        code = _MASKED
    elif needs_layoutray:
        code = _OURS
    else:
        code = _LIBRARY.replace("BOXES\n", _PLACES if takes_boxes(loaded) else "")
    return ["```python", code, "```"]
