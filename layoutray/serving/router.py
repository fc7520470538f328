"""Packets: what a model of pages has read is split into documents, each answered by the model of its kind."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from layoutray.errors import ApiError
from layoutray.serving import schema
from layoutray.serving.answer import DocumentAnswer
from layoutray.serving.answerer import Answerer
from layoutray.serving.model import ModelDescription
from layoutray.serving.submission import WordPages
from layoutray.tasks.packets import PacketDocument, split


async def with_packet(
    answered: DocumentAnswer, model: ModelDescription, answerer: Answerer, routes: Mapping[str, str], owner: str
) -> DocumentAnswer:
    """The answer, as `answered` gives it; that of a model of pages also has the documents of the packet.

    Args:
        routes: name of the model that answers a kind of documents, by kind; documents of other kinds are only found.
        owner: see `Answerer.answer`.
    """
    response = answered.response
    if not model.labels_pages or not isinstance(response, schema.ExtractResponse):
        return answered
    labels: dict[int, dict[str, float]] = defaultdict(dict)
    for entity in response.document.entities:
        labels[entity.bounding_regions[0].page_number][entity.type] = entity.confidence
    found = await asyncio.to_thread(split, answered.pages, labels)
    pages = {page.number: page for page in answered.pages}

    async def part(document: PacketDocument) -> schema.PartResponse:
        made = schema.PartResponse(
            kind=document.kind,
            pages=list(document.pages),
            confidence=document.confidence,
            begin_confidence=document.begin_confidence,
        )
        if (name := routes.get(document.kind)) is None:
            return made
        try:
            chosen = (await answerer.model(name)).asking("")
            if chosen.path != "/v1/extract" or chosen.labels_pages:
                raise ApiError(
                    404, "not_offered", f"model {name} of task {chosen.task} extracts nothing from documents"
                )
            own = WordPages(response.doc_id, tuple(pages[number] for number in document.pages))
            answer = (await answerer.answer(own, chosen, owner=owner)).response
        except ApiError as error:
            detail = schema.ErrorDetail(code=error.code, message=str(error), retryable=error.retryable)
            return made.model_copy(update={"model_id": name, "error": detail})
        shown = {name: getattr(answer, name) for name in ("model_id", "model_version", "document")}
        return made.model_copy(update=shown)

    parts = await asyncio.gather(*map(part, found.documents))
    others = [schema.OtherPageResponse(page_number=number, role=role) for number, role in found.others.items()]
    routed = response.model_copy(
        update={
            "document": schema.DocumentResponse(entities=[], fields=[]),
            "packet": schema.PacketResponse(documents=parts, other_pages=others),
            "status": "partial_success" if any(part.error for part in parts) else response.status,
        }
    )
    return replace(answered, response=routed)
