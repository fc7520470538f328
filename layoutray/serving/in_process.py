"""Documents answered in this process, without Ray: for MLflow, notebooks and tests."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from layoutray.document import Page
from layoutray.document.answers import Found
from layoutray.errors import DocumentError
from layoutray.inference.generation import TextGenerator
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.serving import answer, failures
from layoutray.serving.answer import DocumentAnswer, Written
from layoutray.serving.answerer import DEFAULT, Admit, admit_all, named
from layoutray.serving.model import LoadedVersion, ModelDescription, ModelState
from layoutray.serving.outcome import Outcome
from layoutray.serving.router import with_packet
from layoutray.serving.submission import UploadedFile, WordPages

Result = TypeVar("Result")


class InProcess:
    """Answers documents with one model, one after the other, in one event loop. The caller closes `recogniser`."""

    def __init__(self, loaded: LoadedVersion, recogniser: IsolatedRecogniser) -> None:
        self._model, self._description = loaded.model, loaded.description
        self._recogniser = recogniser
        self._one_document = asyncio.Lock()

    def models(self) -> Mapping[str, ModelState]:
        return {DEFAULT: ModelState(self._description)}

    async def model(self, name: str = DEFAULT) -> ModelDescription:
        return named({DEFAULT: self._description}, name)

    async def check(self) -> ModelDescription:
        return self._description

    async def count_pages(self, file: UploadedFile, owner: str = "") -> int:
        try:
            return await asyncio.to_thread(self._recogniser.count_pages, file.data)
        except DocumentError as error:
            raise failures.error_of(error) from error

    async def answer(
        self,
        document: UploadedFile | WordPages,
        model: ModelDescription,
        admit: Admit = admit_all,
        *,
        owner: str = "",
        explain: bool = False,
    ) -> DocumentAnswer:
        async with self._one_document:
            started = time.perf_counter()
            outcomes, written = await self._pages(document, model, admit), None
            answer.problems_of(outcomes)
            if isinstance(self._model, TextGenerator):
                written, seconds = await _timed(self._write, self._model, answer.pages_of(outcomes), explain)
                outcomes = [*outcomes, Outcome(page=None, model=seconds)]
            answered = answer.answered(document, model, outcomes, written, time.perf_counter() - started)
            return await with_packet(answered, model, self, {}, owner)  # it knows no models to route to

    async def _pages(
        self, document: UploadedFile | WordPages, model: ModelDescription, admit: Admit
    ) -> Sequence[Outcome]:
        """The outcome of each page, in order, without the text generation."""
        if isinstance(document, WordPages):
            await admit(len(document.pages))
            return await self._tag([Outcome(page=page) for page in document.pages], model)
        count = await self.count_pages(document)
        await admit(count)
        known = {number: await document.known.get(number) for number in range(1, count + 1)}
        new = [number for number, outcome in known.items() if outcome is None]
        read = await self._tag([await asyncio.to_thread(self._read, document, number) for number in new], model)
        for number, outcome in zip(new, read, strict=True):
            await document.known.put(number, outcome)
            known[number] = outcome
        return [outcome for outcome in known.values() if outcome]

    def _read(self, file: UploadedFile, number: int) -> Outcome:
        started = time.perf_counter()
        try:
            page = self._recogniser.recognise(file.data, number).of_document(file.doc_id, file.source)
        except DocumentError as error:
            return Outcome(page=None, problem=failures.problem_of(error, number))
        return Outcome(page=page, ocr=time.perf_counter() - started)

    async def _tag(self, read: Sequence[Outcome], model: ModelDescription) -> Sequence[Outcome]:
        """The outcomes with what a model that tags words finds; windows of all pages share forward passes."""
        if isinstance(self._model, TextGenerator):
            return read
        pages = answer.pages_of(read)
        found, seconds = await _timed(self._model.asking(model.fields).read, pages)
        following, share = iter(found), seconds / max(len(pages), 1)
        return [_found(one, next(following), share) if one.page else one for one in read]

    def _write(self, model: TextGenerator, pages: Sequence[Page], explain: bool) -> Written:
        (text,) = model.write([pages])
        return Written(text, model.selections([pages])[0] if explain else None)


def _found(outcome: Outcome, found: Found, seconds: float) -> Outcome:
    return replace(outcome, entities=found.entities, candidates=found.candidates, model=seconds)


async def _timed(work: Callable[..., Result], *arguments: object) -> tuple[Result, float]:
    """What `work` returns in a thread, and the seconds that it took."""
    started = time.perf_counter()
    result = await asyncio.to_thread(work, *arguments)
    return result, time.perf_counter() - started
