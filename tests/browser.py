"""A real Chromium without a network, and a server in this process for it."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

_PATIENCE = 60_000
"""Milliseconds: a busy machine must not fail a test."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of the system; skips the test without one. Its headless shell takes two thirds of the time."""
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if executable is None:
        pytest.skip("there is no chromium-headless-shell or chromium; install the package of the system")
    # Its own sandbox needs rights that a container does not have. No name of another host can be looked up.
    arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    settings = {"executable_path": executable, "args": arguments}
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright, contextlib.closing(playwright.chromium.launch(**settings)) as browser:
        yield browser


@contextmanager
def opened(browser: Browser, url: str, **settings: Any) -> Iterator[Page]:
    """A tab of a new profile. Fails the test when a script fails, or asks for anything but `url`."""
    context = browser.new_context(base_url=url, **settings)
    problems: list[str] = []

    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(url) else problems.append(request.url))
    try:
        yield page
    finally:
        context.close()
    assert problems == []


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address of an ASGI application that answers in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    (port,) = {listener.getsockname()[1] for one in server.servers for listener in one.sockets}
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
