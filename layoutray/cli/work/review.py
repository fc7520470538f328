"""Serves the answers of a model for review to the people at this machine."""

import contextlib
import signal
import socket
import webbrowser
from itertools import chain, islice

import uvicorn
from fastapi import FastAPI

from layoutray.cli.review import ReviewOptions
from layoutray.cli.shared import terminal
from layoutray.errors import InputError
from layoutray.readers.own.reviewed import REVIEW_FILE
from layoutray.review import queue
from layoutray.review.answered_folder import answered_documents
from layoutray.review.app import add_review_page
from layoutray.review.local_only import LocalOnly
from layoutray.review.sessions import Authenticator, Sessions
from layoutray.review.store import ReviewStore
from layoutray.store import sources
from layoutray.store.answer_set import AnswerSet, pages_folder

_HOST = "127.0.0.1"


def run(chosen: ReviewOptions) -> int:
    folder = str(chosen.answers)
    pages = sources.absolute(chosen.pages or pages_folder(folder))
    # `train` writes only the review file, of documents whose answers differ from their values.
    is_queue = (chosen.answers / REVIEW_FILE).exists() and not sources.exists(AnswerSet(folder).lines)
    documents = iter(()) if is_queue else answered_documents(folder, pages, chosen.order)
    first = [*islice(documents, 1)]  # a folder without answers is refused before anything is written into it
    try:
        socket.create_server((_HOST, chosen.port)).close()
    except OSError as error:
        raise InputError(
            f"port {chosen.port} of {_HOST} cannot be used: {error.strerror}; give another --port"
        ) from error
    store = ReviewStore.open(str(chosen.answers / REVIEW_FILE), sample=chosen.sample)
    for document in chain(first, documents):
        store.add(document)
    _, count = queue.listed(store, queue.Filter(), 0, 1)
    url = f"http://{_HOST}:{chosen.port}"
    terminal.say(f"{count} documents; review them at {url}; corrections go to {chosen.answers / REVIEW_FILE}")
    if chosen.open:
        webbrowser.open(url)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises it again at its end
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.run(local_app(store, chosen.reviewer, folder), host=_HOST, port=chosen.port, log_level="warning")
    store.close()
    terminal.say("stopped")
    return 0


def local_app(store: ReviewStore, reviewer: str, folder: str) -> FastAPI:
    """The page for people at this machine. `reviewer`: name of those who give none; `folder` has the review file."""
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    add_review_page(app, store, Sessions(store.database, Authenticator(), reviewer), commands=[command(folder)])
    app.add_middleware(LocalOnly)
    return app


def command(folder: str) -> str:
    """What to run to train on the corrections, and on the documents that were labelled before."""
    return f"layoutray train LABELLED_DOCUMENTS {folder} --out NEW_FOLDER --name NAME"
