# SPDX-License-Identifier: Apache-2.0
"""Key-value store shared by ranks, like PyTorch's stores; a wait for a key takes virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

__all__ = ["SharedStore"]

Answer = Callable[[object], None]


@final
class SharedStore:
    """Carries out requests on a key-value store, one after the other."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._waiting: list[tuple[tuple[str, ...], Answer, Callable[[], object]]] = []

    def carry_out(self, request: str, keys: Sequence[str], values: Sequence[bytes], answer: Answer) -> None:
        """Carry out a request, and call `answer` with its result.

        Requests `get` and `wait` are answered when all keys have values, all other requests at once.

        Args:
            request: `set`; `add` a number; `append`; `compare_set` (values: expected, desired); `check`
                whether all keys exist; `delete` the first key; `count` the keys; `get`; `wait`.
            keys: Keys of the request.
            values: Values of the request.
            answer: Receives the result.

        Raises:
            ValueError: The request is unknown.
        """
        known = self._values
        match request:
            case "set":
                known.update(zip(keys, values, strict=True))
                answer(None)
            case "add":
                total = int(known.get(keys[0], b"0")) + int(values[0])
                known[keys[0]] = str(total).encode()
                answer(total)
            case "append":
                known[keys[0]] = known.get(keys[0], b"") + values[0]
                answer(None)
            case "compare_set":
                expected, desired = values
                if known.get(keys[0], b"") == expected:
                    known[keys[0]] = desired
                answer(known.get(keys[0], expected))
            case "check":
                answer(all(key in known for key in keys))
            case "delete":
                answer(known.pop(keys[0], None) is not None)
            case "count":
                answer(len(known))
            case "get":
                self._when_known(keys, answer, lambda: [known[key] for key in keys])
            case "wait":
                self._when_known(keys, answer, lambda: None)
            case _:
                raise ValueError(f"the store has no request {request!r}")
        self._answer_waiting()

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return the given keys without a value."""
        return [key for key in keys if key not in self._values]

    def forget(self, answer: Answer) -> None:
        """Drop the waiting request with this `answer`; `answer` is never called."""
        self._waiting = [entry for entry in self._waiting if entry[1] is not answer]

    def _when_known(self, keys: Sequence[str], answer: Answer, value: Callable[[], object]) -> None:
        self._waiting.append((tuple(keys), answer, value))

    def _answer_waiting(self) -> None:
        ready = [entry for entry in self._waiting if not self.missing(entry[0])]
        self._waiting = [entry for entry in self._waiting if self.missing(entry[0])]
        for _, answer, value in ready:
            answer(value())
