"""Routes: one document with its pages, its corrections and its history."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Response

from layoutray.document import Page
from layoutray.errors import ApiError
from layoutray.review.pictures import PagePictures
from layoutray.review.schema import MOST, Save, shown_correction, shown_review
from layoutray.review.sessions import Session, Sessions
from layoutray.review.store import ConflictError, Entry, ReviewStore, UnseenError

_DOCUMENT = "/documents/{number}"
_Number = Annotated[int, Path(ge=0, le=MOST)]
_NEVER_CHANGES = {"Cache-Control": "private, max-age=3600"}


@dataclass(frozen=True, slots=True)
class DocumentRoutes:
    """The routes of a document. Nobody sees those of others: they are answered as unknown ones."""

    store: ReviewStore
    sessions: Sessions

    def add_to(self, app: FastAPI) -> None:
        pictures = PagePictures(self.store)

        def picture(
            request: Request, number: _Number, page: _Number, width: Annotated[int, Query(ge=1, le=10_000)] = 960
        ) -> Response:
            """The picture of a page, at least `width` pixels wide if its own is."""
            self._own(request, number)
            content = pictures.picture(number, page, width)
            return Response(content, media_type="image/jpeg", headers=_NEVER_CHANGES)

        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", _DOCUMENT, self.document),
            ("PUT", _DOCUMENT, self.save),
            ("GET", f"{_DOCUMENT}/history", self.history),
            ("GET", f"{_DOCUMENT}/pages/{{page}}", self.words),
            ("GET", f"{_DOCUMENT}/pages/{{page}}/picture", picture),
        ]
        for method, path, handler in routes:
            check = self.sessions.reading if method == "GET" else self.sessions.changing
            app.add_api_route(path, handler, methods=[method], dependencies=[Depends(check)], response_model=None)

    def document(self, request: Request, number: _Number) -> dict[str, Any]:
        """A document with its values, and the sizes of its pages."""
        self._own(request, number)
        review = self.store.review(number)
        if review is None:  # deleted a moment ago
            raise _unknown(number)
        pages = [{"page": page, "width": width, "height": height} for page, width, height in self.store.pages(number)]
        return shown_review(review) | {"pages": pages}

    def save(self, request: Request, number: _Number, body: Save) -> dict[str, Any]:
        """Store the values of a document; 409 after a conflict, 422 if it cannot be finished."""
        session: Session = request.state.session
        self._own(request, number)
        self._check_words(number, body)
        values = [value.value() for value in body.values]
        try:
            self.store.save(number, body.revision, values, done=body.done, reviewer=session.reviewer)
        except ConflictError as error:
            message = f"the document has changed since revision {body.revision}; load it and save again"
            raise ApiError(409, "conflict", message) from error
        except UnseenError as error:
            message = f"the document cannot be finished: {error}; confirm, change or remove each of them"
            raise ApiError(422, "not_looked_at", message) from error
        entry = self._own(request, number)
        return {"revision": entry.revision, "state": entry.state}

    def history(self, request: Request, number: _Number) -> list[dict[str, Any]]:
        """Who did what when, the latest first."""
        self._own(request, number)
        return [shown_correction(one) for one in reversed(self.store.corrections(number))]

    def words(self, request: Request, number: _Number, page: _Number) -> Response:
        """The words of a page: text, x0, y0, x1 and y1 in pixels, confidence of each."""
        self._own(request, number)
        content = self._page(number, page)
        words = [
            [
                word.text,
                *(round(side, 1) for side in word.box.to_pixels(content.width, content.height)),
                word.confidence,
            ]
            for word in content.words
        ]
        text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        return Response(text, media_type="application/json", headers=_NEVER_CHANGES)

    def _own(self, request: Request, number: int) -> Entry:
        """The document. Raises ApiError (404) when there is none, or it is somebody else's."""
        session: Session = request.state.session
        entry = self.store.entry(number)
        if entry is None or session.visitor.shown not in (None, entry.owner):
            raise _unknown(number)
        return entry

    def _page(self, number: int, page: int) -> Page:
        found = self.store.page(number, page)
        if found is None:
            raise ApiError(404, "not_found", f"the document has no page {page}")
        return found

    def _check_words(self, number: int, body: Save) -> None:
        """Raise ApiError (404, 422) for words that the document does not have."""
        counts: dict[int | None, int] = {None: 0}
        for value in body.values:
            if value.page not in counts:
                counts[value.page] = len(self._page(number, value.page or 0).words)
            if value.words and max(value.words) >= counts[value.page]:
                message = f"{value.name} has the word {max(value.words)}; page {value.page} has {counts[value.page]}"
                raise ApiError(422, "invalid_request", message)


def _unknown(number: int) -> ApiError:
    return ApiError(404, "not_found", f"there is no document {number}")
