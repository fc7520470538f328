"""Pages that the tests of the store and of prepare make up."""

from layoutray.document import Box, Page, Provenance, Word


def page(doc_id: str = "d", number: int = 1, *words: Word, split: str = "train", source: str = "") -> Page:
    """A page of 100 x 200 pixels with `words`."""
    provenance = Provenance(
        words="ocr", reason="a picture has no text layer", engine="tesserocr", version="5.5.4 eng:0", settings="{}"
    )
    return Page(
        doc_id=doc_id,
        number=number,
        width=100,
        height=200,
        words=words,
        source=source or f"{doc_id}.png",
        image=f"{doc_id}.png",
        split=split,
        provenance=provenance,
    )


def word(text: str, **changes: object) -> Word:
    """A word with a box whose sides are exact as 32-bit floats."""
    return Word(text=text, **{"box": Box(0.25, 0.5, 0.375, 0.5625), **changes})  # pyright: ignore[reportArgumentType]
