# SPDX-License-Identifier: Apache-2.0
"""Chromium for tests of pages: its launch, limits of time, and waits.

A page draws later than a test asks, on a busy machine much later. A test therefore waits for what it asserts,
by `expect` or `until`, and gives up after minutes only.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["LIMIT_SECONDS", "NO_PLAYWRIGHT", "browser", "needs_packages", "until", "visit"]

LIMIT_SECONDS = 240
"""Longest wait for a page, a process or an answer; reached only by what never comes."""

NO_PLAYWRIGHT = "Playwright is not installed: run `make setup`"

_LIMIT_MS = 1000 * LIMIT_SECONDS
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

# Notices go after some seconds: their words are kept here for `until`.
_KEEP_ALERTS = """
window.alerts = [];
new MutationObserver(() => {
    for (const part of document.querySelectorAll("[role=alert]"))
        if (alerts.at(-1) !== part.textContent) alerts.push(part.textContent);
}).observe(document, {subtree: true, childList: true, characterData: true});
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a GPU; a test that asks for it is skipped where it is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT)
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        pytest.skip("needs Chromium: `make setup` installs it on Debian")
    sync_api.expect.set_options(timeout=_LIMIT_MS)
    with (
        sync_api.sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"], timeout=_LIMIT_MS
        ) as opened,
    ):
        yield opened


def needs_packages() -> pytest.MarkDecorator:
    """Return the mark of tests that serve the live page, whose packages come from npm."""
    from railyard.web.app import PACKAGES, PAGE

    # `make setup` installs them; `make base`, which a wheel's users have, does not.
    missing = not all((PAGE / "node_modules" / path).is_file() for path in PACKAGES.values())
    return pytest.mark.skipif(missing, reason="the page's packages are missing: run `make setup`")


@contextmanager
def visit(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    height: int = 800,
    dark: bool = False,
    asked: list[str] | None = None,
) -> Iterator[Page]:
    """Open a page; afterwards check that it reported no error, and asked only the machine of its address.

    The page has `alerts`, the words of all alerts up to now; `asked` receives the addresses that it asks for.
    """
    asked = [] if asked is None else asked
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    context.set_default_timeout(_LIMIT_MS)
    context.add_init_script(_KEEP_ALERTS)
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(address)
        yield page
    finally:
        context.close()
    assert errors == []
    elsewhere = [url for url in asked if not url.startswith(("blob:", "data:"))]
    assert {urlsplit(url).netloc for url in elsewhere} == {urlsplit(address).netloc}


def until(page: Page, expression: str) -> None:
    """Wait until an expression in the page is true; an error in it counts as false."""
    # The page's own policy forbids wait_for_function() to evaluate text in it.
    from playwright.sync_api import Error

    limit = time.monotonic() + LIMIT_SECONDS
    value: object = None
    while time.monotonic() < limit:
        try:
            value = page.evaluate(expression)
        except Error as ex:
            value = ex.message
        else:
            if value:
                return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}, at last {value!r}")
