"""From drawn pages to answers in Python, as in a notebook; small enough for a CPU and two minutes.

    python docs/examples/whole_way.py FOLDER

The model is far too small to be good: the program shows the calls. `docs/python.md` explains them.
"""

import sys
from pathlib import Path

import layoutray

TINY = ["model={arch = 'skimformer', size = 'tiny'}", "task={name = 'entities'}", "tokenizer.vocab_size=300"]
SHORT = ["train.steps=6", "train.batch_size=4", "train.micro_batch_size=2", "train.warmup_steps=2"]


def main(folder: Path) -> None:
    store = f"sqlite:///{folder / 'mlflow.db'}"
    layoutray.synthesize(folder / "drawn", count=10, seed=3)

    manifest = layoutray.ingest(
        "ingest-synthetic", folder / "drawn", folder / "pages", overrides=["dev_share=0.25", "test_share=0.25"]
    )
    print(f"{manifest.pages_out} pages read by {', '.join(manifest.engines)}; {manifest.pages_dead} dead letters")

    card = layoutray.encode("finetune-fields", folder / "pages", out=folder / "examples", overrides=TINY)
    print(f"{card.examples} examples")

    trained = layoutray.finetune(
        "finetune-fields",
        folder / "examples",
        out=folder / "model",
        overrides=[*TINY, *SHORT],
        register="forms",
        tracking_uri=store,
    )
    print(f"{trained.checkpoint}: {trained.metrics}")

    report = layoutray.evaluate(trained.checkpoint, folder / "pages", split="test", tracking_uri=store)
    print(f"F1 on test: {report['metrics']['f1']:.3f}")

    done = layoutray.predict("models:/forms@champion", folder / "pages", out=folder / "answers", tracking_uri=store)
    print(f"{done.answered} pages answered")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
