"""Pages that the tests of the store and of prepare make up."""

from layoutray.document import Box, Page, Provenance, Word


def page(doc_id: str = "d", number: int = 1, *words: Word, split: str = "train", source: str = "") -> Page:
    """A page of 100 x 200 pixels with `words`."""
    provenance = Provenance("ocr", "a picture has no text layer", "tesserocr", "5.5.4 eng:0", "{}")
    return Page(doc_id, number, 100, 200, words, source or f"{doc_id}.png", f"{doc_id}.png", split, provenance)


def word(text: str, **changes: object) -> Word:
    """A word with a box whose sides are exact as 32-bit floats."""
    return Word(text, **{"box": Box(0.25, 0.5, 0.375, 0.5625), **changes})  # pyright: ignore[reportArgumentType]
