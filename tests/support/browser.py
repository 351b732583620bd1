"""The browser that pages are opened in: the system's Chromium, driven by Playwright, and what to say without them.

With DEEPPROMPT_NEED_BROWSER=1 a missing browser is a failure: a run that is meant to see the page must not skip it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NEEDED = os.environ.get("DEEPPROMPT_NEED_BROWSER") == "1"


def missing() -> str:
    """Return why no page can be opened here, "" if one can."""
    try:
        import_module("playwright.sync_api")
    except ImportError:
        return "needs Playwright: pip install 'deepprompt[browser]'"
    return "" if _chromium() else "needs Chromium: apt-get install chromium"


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def launched() -> Iterator[Any]:
    """Start the browser, and end it."""
    if reason := missing():
        raise RuntimeError(reason)
    playwright = import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched(browser: Any) -> Iterator[Callable[[Path, int, str], Any]]:
    """Yield a function that opens a page of a width and a color scheme.

    In the end no page may have written to the console, failed, or asked for anything but itself.
    """
    said: list[str] = []
    pages: list[Any] = []

    def open_page(target: Path, width: int, scheme: str) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: None if request.url == target.as_uri() else said.append(request.url))
        pages.append(page)
        page.goto(target.as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []
