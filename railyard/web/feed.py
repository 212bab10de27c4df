# SPDX-License-Identifier: Apache-2.0
"""Feed of an open page: records of the history, changes of the state, and replies to the page's commands.

Each page has its own position in the history, so a slow page delays no other page. The history thins out old
ticks, so a page that reads late receives fewer of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, final

from starlette.websockets import WebSocket, WebSocketDisconnect

from railyard.web.session import Command, Session

__all__ = ["Feed", "Pages"]

# Number of unsent replies from which further commands of a page wait; longest command in bytes.
_MOST_REPLIES = 64
_MOST_COMMAND = 1 << 16


@final
class Pages:
    """All open pages of a session; the thread of the run calls `wake` when records or the state are new."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.feeds: set[Feed] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending = False
        session.history.changed = self.wake
        session.changed = self.wake

    def use(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the event loop used by `wake`."""
        self._loop = loop

    @property
    def idle(self) -> bool:
        """True if every page has received the state and all records; safe to call from any thread."""
        return all(feed.idle for feed in tuple(self.feeds))

    @property
    def sent(self) -> int:
        """Number of messages sent to pages; safe to call from any thread."""
        return sum(feed.sent for feed in tuple(self.feeds))

    def wake(self) -> None:
        """Make all pages send new records and states; safe and cheap to call from any thread."""
        loop = self._loop
        if loop is None or self._pending or not self.feeds or loop.is_closed():
            return
        self._pending = True
        loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._pending = False
        for feed in self.feeds:
            feed.news.set()


@final
class Feed:
    """The feed of an open page; `presents` is true for the page of a presenter."""

    def __init__(self, pages: Pages, socket: WebSocket, *, presents: bool = False) -> None:
        self.news = asyncio.Event()
        self.sent = 0
        self._pages = pages
        self._socket = socket
        self._presents = presents
        self._loop = asyncio.get_running_loop()
        self._replies: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self._replied = asyncio.Event()  # set while fewer than _MOST_REPLIES replies are unsent
        self._replied.set()
        self._sent_state: Mapping[str, Any] = {}
        self._number = -1  # number of the last record that was sent

    @property
    def idle(self) -> bool:
        """True if the page has received the state and all records."""
        pages = self._pages.session
        return pages.history.last == self._number and self._state == self._sent_state

    @property
    def _state(self) -> Mapping[str, Any]:
        """State of the session for this page, never read-only for a presenter's page."""
        state = self._pages.session.state
        return {**state, "read_only": state["read_only"] and not self._presents}

    async def serve(self) -> None:
        """Send records and receive commands until the page is closed."""
        self._pages.feeds.add(self)
        sending = asyncio.create_task(self._send())
        receiving = asyncio.create_task(self._receive())
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pages.feeds.discard(self)
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    async def _send(self) -> None:
        history = self._pages.session.history
        while True:
            self.news.clear()
            while not self._replies.empty():
                await self._text(self._replies.get_nowait())
            self._replied.set()
            state = self._state
            if state != self._sent_state:
                await self._text(state)
                self._sent_state = state
            records, last = history.after(self._number)
            for record in records:
                await self._socket.send_bytes(bytes([record.kind]) + record.payload)
                self.sent += 1
            self._number = last
            if not records:
                await self.news.wait()

    async def _receive(self) -> None:
        while True:
            await self._replied.wait()
            try:
                text = await self._socket.receive_text()
            except WebSocketDisconnect:
                return
            try:
                values = json.loads(text) if len(text) < _MOST_COMMAND else None
                # Refuse values that a reply, which repeats the id of its command, could not contain.
                json.dumps(values, allow_nan=False)
            except (ValueError, RecursionError):
                values = None
            if not isinstance(values, dict):
                self._reply(
                    {
                        "type": "refused",
                        "text": "the command is not a JSON object of at most 64 kB with finite numbers; "
                        "reload the page",
                    }
                )
            else:
                self._pages.session.put(Command(values, self._reply_from_thread, self._presents))

    def _reply_from_thread(self, values: Mapping[str, Any]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._reply, values)

    def _reply(self, values: Mapping[str, Any]) -> None:
        self._replies.put_nowait(values)
        if self._replies.qsize() >= _MOST_REPLIES:
            self._replied.clear()
        self.news.set()

    async def _text(self, values: Mapping[str, Any]) -> None:
        await self._socket.send_text(json.dumps(values))
        self.sent += 1
