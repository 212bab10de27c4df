# SPDX-License-Identifier: Apache-2.0
"""The web application of the live page: page, packages, websocket and access control.

A page needs the token in its address. Requests for another host name, and websockets from pages of another
origin, are refused. So no other site can control a run, not even by a host name that leads to this machine.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from harness.errors import OutputError
from railyard.web.feed import Feed, Pages
from railyard.web.session import Session

__all__ = ["PACKAGES", "PAGE", "application", "check_packages"]

PAGE = Path(__file__).parent / "page"

PACKAGES = {
    "preact.js": "preact/dist/preact.mjs",
    "hooks.js": "preact/hooks/dist/hooks.mjs",
    "htm.js": "htm/dist/htm.module.js",
    "uplot.js": "uplot/dist/uPlot.esm.js",
    "uplot.css": "uplot/dist/uPlot.min.css",
}
"""Files of npm packages that the page loads, by their names under /npm/."""

# Code with which the websocket closes if the token or the origin is wrong.
_NO_TOKEN = 4401


def check_packages() -> None:
    """Raise an OutputError if the packages of the page are not installed."""
    missing = [path for path in PACKAGES.values() if not (PAGE / "node_modules" / path).is_file()]
    if missing:
        package = missing[0].partition("/")[0]
        raise OutputError(
            f"the npm package {package}, which the live page needs, is not installed",
            remedy="run `make lab-setup` in a clone; elsewhere install a wheel that `make wheels` has built",
        )


def application(session: Session, token: str, hosts: Collection[str]) -> Starlette:
    """Return the web application of a session.

    Args:
        session: Session that the pages show.
        token: Secret in the address of the page.
        hosts: Host names that requests may name; `*` allows any.
    """
    pages = Pages(session)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        pages.use(asyncio.get_running_loop())
        yield

    async def index(request: Request) -> Response:
        html = (PAGE / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(html, headers={"Content-Security-Policy": _policy(html), **_HEADERS})

    async def package(request: Request) -> Response:
        path = PACKAGES.get(request.path_params["name"])
        if path is None:
            return PlainTextResponse("this package does not exist", status_code=404)
        return FileResponse(PAGE / "node_modules" / path, headers=_HEADERS)

    async def live(socket: WebSocket) -> None:
        given = socket.query_params.get("token", "")
        origin = socket.headers.get("origin")
        own = {f"{scheme}://{socket.headers.get('host')}" for scheme in ("http", "https")}
        await socket.accept()
        if origin is not None and origin not in own:
            await socket.close(_NO_TOKEN, "a page of another site may not connect")
        elif session.presenter and secrets.compare_digest(given.encode(), session.presenter.encode()):
            await Feed(pages, socket, presents=True).serve()
        elif not secrets.compare_digest(given.encode(), token.encode()):
            await socket.close(
                _NO_TOKEN,
                "the address lacks the token that the command has printed; open the printed address whole",
            )
        else:
            await Feed(pages, socket).serve()

    app = Starlette(
        routes=[
            Route("/", index),
            Route("/npm/{name}", package),
            WebSocketRoute("/live", live),
            Mount("/page", _Modules(directory=PAGE)),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[*hosts])],
        lifespan=lifespan,
    )
    app.state.pages = pages
    return app


_HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class _Modules(StaticFiles):
    """Serves modules, styles and icon of the page, but not the npm packages in its folder."""

    async def get_response(self, path: str, scope) -> Response:  # type: ignore[no-untyped-def]
        if Path(path).suffix not in {".js", ".css", ".svg"} or "node_modules" in path:
            return PlainTextResponse("this file does not exist", status_code=404)
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def _policy(html: str) -> str:
    """Return a content security policy: no loads from other sites, no inline script but the import map."""
    maps = re.findall(r'<script type="importmap">(.*?)</script>', html, flags=re.DOTALL)
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in maps
    )
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
