"""Packets: what a model of pages has read is split into documents, each answered by the model of its kind."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from layoutray.document import Page
from layoutray.errors import ApiError
from layoutray.serving import schema
from layoutray.serving.answer import DocumentAnswer
from layoutray.serving.answerer import DEFAULT, Admit, Answerer, admit_all
from layoutray.serving.model import ModelDescription, ModelState
from layoutray.serving.submission import UploadedFile, WordPages
from layoutray.tasks.packets import PacketDocument, split


@dataclass(frozen=True, slots=True)
class Router:
    """An answerer whose answers of models of pages have the documents of the packet.

    Attributes:
        inner: answers pages and documents.
        routes: name of the model that answers a kind of documents, by kind; documents of other kinds are only found.
    """

    inner: Answerer
    routes: Mapping[str, str]

    def models(self) -> Mapping[str, ModelState]:
        return self.inner.models()

    async def model(self, name: str = DEFAULT) -> ModelDescription:
        return await self.inner.model(name)

    async def check(self) -> ModelDescription:
        return await self.inner.check()

    async def count_pages(self, file: UploadedFile, owner: str = "") -> int:
        return await self.inner.count_pages(file, owner)

    async def answer(
        self,
        document: UploadedFile | WordPages,
        model: ModelDescription,
        admit: Admit = admit_all,
        *,
        owner: str = "",
        explain: bool = False,
    ) -> DocumentAnswer:
        answered = await self.inner.answer(document, model, admit, owner=owner, explain=explain)
        response = answered.response
        if not model.labels_pages or not isinstance(response, schema.ExtractResponse):
            return answered
        labels: dict[int, dict[str, float]] = defaultdict(dict)
        for entity in response.document.entities:
            labels[entity.bounding_regions[0].page_number][entity.type] = entity.confidence
        found = await asyncio.to_thread(split, answered.pages, labels)
        pages = {page.number: page for page in answered.pages}
        parts = await asyncio.gather(*(self._part(one, pages, response.doc_id, owner) for one in found.documents))
        others = [schema.OtherPageResponse(page_number=number, role=role) for number, role in found.others.items()]
        routed = response.model_copy(
            update={
                "document": schema.DocumentResponse(entities=[], fields=[]),
                "packet": schema.PacketResponse(documents=parts, other_pages=others),
                "status": "partial_success" if any(part.error for part in parts) else response.status,
            }
        )
        return replace(answered, response=routed)

    async def _part(
        self, found: PacketDocument, pages: Mapping[int, Page], doc_id: str, owner: str
    ) -> schema.PartResponse:
        part = schema.PartResponse(
            kind=found.kind,
            pages=list(found.pages),
            confidence=found.confidence,
            begin_confidence=found.begin_confidence,
        )
        if (name := self.routes.get(found.kind)) is None:
            return part
        try:
            response = await self._routed(name, doc_id, [pages[number] for number in found.pages], owner)
        except ApiError as error:
            detail = schema.ErrorDetail(code=error.code, message=str(error), retryable=error.retryable)
            return part.model_copy(update={"model_id": name, "error": detail})
        answer = {name: getattr(response, name) for name in ("model_id", "model_version", "document")}
        return part.model_copy(update=answer)

    async def _routed(self, name: str, doc_id: str, pages: Sequence[Page], owner: str) -> schema.ExtractResponse:
        """The answer of a model to pages of a packet. Raises ApiError, also for a model that answers no documents."""
        model = (await self.inner.model(name)).asking("")
        if model.path != "/v1/extract" or model.labels_pages:
            raise ApiError(404, "not_offered", f"model {name} of task {model.task} extracts nothing from documents")
        response = (await self.inner.answer(WordPages(doc_id, tuple(pages)), model, owner=owner)).response
        assert isinstance(response, schema.ExtractResponse)
        return response
