# SPDX-License-Identifier: Apache-2.0
"""Server of the live page: serves the web application at an address, in a thread of its own."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final
from urllib.parse import urlsplit

import uvicorn

from harness.errors import OutputError
from railyard.web.app import application, check_packages
from railyard.web.feed import Pages
from railyard.web.session import Session

__all__ = ["DEFAULT_PORT", "presenters", "serving"]

DEFAULT_PORT = 8642
LOOPBACK = "127.0.0.1"
# Environment variables that a virtual machine or a container sets: the default address to listen on, and the
# address at which a browser outside reaches the default port.
HOST_VARIABLE = "RAILYARD_PAGE_HOST"
ADDRESS_VARIABLE = "RAILYARD_PAGE_ADDRESS"
# Wildcard addresses, each with an address reserved for documentation, for asking the system for a route.
_EVERY = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}
# Time for pages to receive the last records: seconds without any progress, and seconds in all.
_FAREWELL_SECONDS = 2.0
_LONGEST_FAREWELL_SECONDS = 60.0


@contextmanager
def serving(session: Session, host: str | None = None, port: int = DEFAULT_PORT) -> Iterator[str]:
    """Serve a session in a thread; yield the address to open, which contains the token.

    Args:
        session: Session that the pages show.
        host: Address to listen on. None takes `RAILYARD_PAGE_HOST`, or else loopback; on the default port the
            yielded address is then that of `RAILYARD_PAGE_ADDRESS`, if it is set.
        port: Port to listen on; 0 takes any free port.

    Raises:
        OutputError: The port is in use, the host is not an address of this machine, `RAILYARD_PAGE_ADDRESS`
            is not an address of a page, or packages are missing.
    """
    check_packages()
    outside = _outside_address() if host is None and port == DEFAULT_PORT else ""
    if host is None:
        host = os.environ.get(HOST_VARIABLE) or LOOPBACK
    token = secrets.token_urlsafe(18)
    listener = _listener(host, port)
    port = listener.getsockname()[1]
    loopback = host in (LOOPBACK, "localhost", "::1")
    hosts = [LOOPBACK, "localhost", "[::1]"] if loopback or outside else ["*"]
    if outside:
        hosts.append(urlsplit(outside).hostname or "*")
    app = application(session, token, hosts)
    server = _Server(
        uvicorn.Config(
            app,
            log_level="error",
            ws="websockets-sansio",
            ws_max_size=1 << 20,
            ws_ping_interval=None,
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=server.run, args=([listener],), name="page", daemon=True)
    thread.start()
    try:
        yield f"{outside or f'http://{_name(_reachable(host))}:{port}'}/?token={token}"
    finally:
        _farewell(app.state.pages)
        server.should_exit = True
        thread.join(timeout=_LONGEST_FAREWELL_SECONDS)


def _outside_address() -> str:
    """Return the address of `RAILYARD_PAGE_ADDRESS` without a final slash, or '' if it is not set."""
    address = os.environ.get(ADDRESS_VARIABLE, "").rstrip("/")
    parts = urlsplit(address)
    if address and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query):
        raise OutputError(
            f"{ADDRESS_VARIABLE} is {address!r}, which is not an address of a page",
            remedy="set it to an address such as http://127.0.0.1:8642, or unset it",
        )
    return address


def _farewell(pages: Pages) -> None:
    """Wait until every page has received all records, or until pages make no progress for two seconds."""
    limit = time.monotonic() + _LONGEST_FAREWELL_SECONDS
    sent, since = pages.sent, time.monotonic()
    while not pages.idle and time.monotonic() < min(limit, since + _FAREWELL_SECONDS):
        time.sleep(0.02)
        if pages.sent != sent:
            sent, since = pages.sent, time.monotonic()


@final
class _Server(uvicorn.Server):
    """A server without signal handlers, because the command `railyard` handles signals."""

    def install_signal_handlers(self) -> None:
        """Do nothing, because the command handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def presenters(address: str, session: Session) -> str:
    """Return the address of the presenter's page, from the `address` of the read-only pages."""
    return f"{address.partition('?')[0]}?token={session.presenter}"


def _reachable(host: str) -> str:
    """Return `host`, or for a wildcard such as 0.0.0.0 an address reachable from other machines."""
    if host not in _EVERY:
        return host
    family, elsewhere = _EVERY[host]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))  # makes the system choose a route, without sending a packet
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()


def _name(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)  # pages that connect before the thread is ready wait
    except (OSError, OverflowError) as ex:
        listener.close()
        if getattr(ex, "errno", None) == errno.EADDRINUSE:
            raise OutputError(
                f"port {port} of {host} is in use",
                remedy="give another port with --port, or 0 for any free port",
            ) from None
        raise OutputError(
            f"the page cannot be served at {host}:{port}: {getattr(ex, 'strerror', None) or ex}",
            remedy="give an address of this machine with --host, and a port with --port",
        ) from None
    return listener
