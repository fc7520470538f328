"""The language of the documents of an ingest, decided from their first pages, for `language = "auto"`.

The first pages are read with the letters of all languages. The package `py3langid` says from groups of letters, and so
from short words too, how likely each language is. The decision is kept in the folder of the data set, so that the next
run, for example after a killed one, plans the same pages.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from layoutray.document import Word
from layoutray.errors import DocumentError, InputError
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import AUTO
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.output import Output
from layoutray.prepare.recognise import check_engine
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import sources

CERTAIN = 0.9
"""A decision with a lower certainty is reported as doubtful."""
_PAGES, _MOST_READ = 5, 20
"""Pages with text that decide, each of another document. Most documents that are opened to find them."""
_LEAST_LETTERS = 40
"""Letters of a page that takes part."""
_CODES = {
    "ces": "cs",
    "dan": "da",
    "deu": "de",
    "eng": "en",
    "est": "et",
    "fin": "fi",
    "fra": "fr",
    "hrv": "hr",
    "hun": "hu",
    "ind": "id",
    "ita": "it",
    "lav": "lv",
    "lit": "lt",
    "msa": "ms",
    "nld": "nl",
    "nor": "no",
    "pol": "pl",
    "por": "pt",
    "ron": "ro",
    "slk": "sk",
    "slv": "sl",
    "spa": "es",
    "swe": "sv",
    "tur": "tr",
}
"""ISO 639-1 codes, which py3langid knows, of the languages whose letters are known, by ISO 639-3 code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The language of some pages.

    Attributes:
        language: ISO 639-3 code.
        certainty: its probability, 0..1, mean over the pages.
        pages: number of pages that took part.
        others: probabilities of other languages, mean over the pages, if they are above 0.05.
    """

    language: str
    certainty: float
    pages: int
    others: Mapping[str, float]


def with_language(
    recipe: IngestRecipe, root: str, output: Output | None = None
) -> tuple[IngestRecipe, Decision | None]:
    """The recipe with the language of the documents below `root`, and the decision; without `auto`, the same recipe.

    Args:
        output: data set that has the decision of an earlier run, if there was one.

    Raises:
        InputError: if there is no document, or no text on the first page of any of the first 20.
        MissingDependencyError: if the OCR engine is not installed.
    """
    settings = recipe.recognition.settings
    if recipe.words != "ocr" or getattr(settings, "language", "") != AUTO:
        return recipe, None
    if output and sources.exists(output.language):
        decision = Decision(**json.loads(sources.read_bytes(output.language)))
    else:
        every = replace(settings, language="+".join(_CODES))
        reading = replace(recipe, recognition=replace(recipe.recognition, settings=every))
        decision = decide(_first_pages(root, reading))
    settings = replace(settings, language=decision.language)
    return replace(recipe, recognition=replace(recipe.recognition, settings=settings)), decision


def decide(pages: Iterable[Sequence[Word]]) -> Decision:
    """The likeliest language of first pages, without those of few letters. Raises InputError if none is left."""
    with_text = (text for text in map(_text, pages) if sum(map(str.isalpha, text)) >= _LEAST_LETTERS)
    texts = [*islice(with_text, _PAGES)]
    if not texts:
        raise InputError(
            f"language is {AUTO!r}, and no first page has {_LEAST_LETTERS} letters in words; "
            "set recognition.rapidocr.language to a code such as deu"
        )
    ranked = [dict(_identifier().rank(text)) for text in texts]
    means = {code: sum(float(one[short]) for one in ranked) / len(ranked) for code, short in _CODES.items()}
    language = max(means, key=means.__getitem__)
    others = {code: round(mean, 3) for code, mean in means.items() if code != language and mean > 0.05}
    return Decision(language=language, certainty=round(means[language], 3), pages=len(texts), others=others)


def _text(words: Sequence[Word]) -> str:
    """The words without digits, in lower case: text in capitals is often taken for another language."""
    return " ".join(word.text for word in words if not any(map(str.isdigit, word.text))).lower()


@cache
def _identifier() -> Any:
    # Imported here because it loads a model of 5 MB, which few callers need.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*_CODES.values()])
    return identifier


def _first_pages(root: str, recipe: IngestRecipe) -> Iterator[Sequence[Word]]:
    check_engine(recipe.recognition)
    references = find_documents(root, recipe, _MOST_READ).references
    with IsolatedRecogniser(recipe.recognition) as recogniser:
        for reference in references:
            yield _words(recogniser, reference)


def _words(recogniser: IsolatedRecogniser, reference: DocumentRef) -> Sequence[Word]:
    """The words of the first page; none if it cannot be read, which its dead letter will say."""
    try:
        return recogniser.recognise(sources.read_bytes(reference.image), 1).words
    except DocumentError:
        return ()
