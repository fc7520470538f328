"""Train the LiLT of the transformers library with its Trainer on a folder of `layoutray export dataset`.

python docs/examples/train_lilt.py FOLDER OUT

It does not need layoutray, only transformers, datasets and accelerate. The model is tiny and starts from random
weights, and each word is one token, so that it runs in seconds on a CPU. To fine-tune a released LiLT,
load model and tokenizer with from_pretrained, tokenize with is_split_into_words=True, and give each token the box and
the tag of its word.
"""

import sys

import datasets
import numpy as np
import torch
from transformers import LiltConfig, LiltForTokenClassification, Trainer, TrainingArguments

LONGEST, PAD, UNKNOWN, NO_LABEL = 128, 0, 1, -100


def vocabulary(pages):
    """Number of each word of the training pages."""
    words = sorted({word.lower() for page in pages["tokens"] for word in page})
    return {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}


def encoder(numbers):
    """The function that makes the inputs of the model from a page."""

    def padded(values, filler):
        return (values + [filler] * LONGEST)[:LONGEST]

    def encode(page):
        tags = page["ner_tags"] or [None] * len(page["tokens"])
        return {
            "input_ids": padded([numbers.get(word.lower(), UNKNOWN) for word in page["tokens"]], PAD),
            "bbox": padded(page["bboxes"], [0, 0, 0, 0]),
            "attention_mask": padded([1] * len(page["tokens"]), 0),
            "labels": padded([NO_LABEL if tag is None else tag for tag in tags], NO_LABEL),
        }

    return encode


def accuracy(prediction):
    """Share of words whose tag is right."""
    known = prediction.label_ids != NO_LABEL
    return {"accuracy": float(np.mean(prediction.predictions.argmax(-1)[known] == prediction.label_ids[known]))}


def main(folder, out):
    pages = datasets.load_dataset(folder)
    names = pages["train"].features["ner_tags"].feature.names
    numbers = vocabulary(pages["train"])
    encoded = pages.map(encoder(numbers), remove_columns=pages["train"].column_names)
    torch.manual_seed(1)
    model = LiltForTokenClassification(
        LiltConfig(
            vocab_size=len(numbers) + 2,
            pad_token_id=PAD,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=LONGEST + PAD + 1,
            id2label=dict(enumerate(names)),
            label2id={name: number for number, name in enumerate(names)},
        )
    )
    settings = TrainingArguments(
        out,
        max_steps=200,
        per_device_train_batch_size=8,
        learning_rate=3e-3,
        seed=1,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_steps=50,
    )
    held_out = encoded["validation"] if "validation" in encoded else encoded["test"]
    trainer = Trainer(model, settings, train_dataset=encoded["train"], eval_dataset=held_out, compute_metrics=accuracy)
    trainer.train()
    print(trainer.evaluate())
    trainer.save_model(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
