# SPDX-License-Identifier: Apache-2.0
"""The store of `init_process_group`, kept by the fabric's process; a wait for a key takes virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, final
from urllib.parse import parse_qs

import torch.distributed as dist
from torch.distributed.rendezvous import _rendezvous_handlers

from railyard.torch.process import RankProcess

__all__ = ["FabricStore", "install"]


_stores: list[FabricStore] = []


@final
class FabricStore(dist.Store):  # type: ignore[misc]
    """A key-value store of PyTorch, shared by all ranks of a run."""

    def __init__(self, process: RankProcess, timeout: timedelta = timedelta(minutes=5)) -> None:
        super().__init__()
        _stores.append(self)  # keep a reference, because PyTorch keeps only the C++ part of the object
        self._process = process
        self._timeout = timeout

    def clone(self) -> FabricStore:
        """Return a store with the same content."""
        return FabricStore(self._process, self._timeout)

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self._process.store("set", [key], [_bytes(value)])

    def get(self, key: str) -> bytes:
        """Wait until a key has a value, and return the value."""
        return self.multi_get([key])[0]

    def add(self, key: str, value: int) -> int:
        """Add `value` to the number stored under a key, and return the sum."""
        return int(self._process.store("add", [key], [str(value).encode()]))

    def append(self, key: str, value: str | bytes) -> None:
        """Append to the value of a key."""
        self._process.store("append", [key], [_bytes(value)])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key to `desired` if its value is `expected`, and return the resulting value."""
        return bytes(self._process.store("compare_set", [key], [_bytes(expected), _bytes(desired)]))

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys have values."""
        return bool(self._process.store("check", keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values."""
        self._process.store("wait", keys, timeout_ps=_ps(timeout or self._timeout))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Wait until all keys have values, and return the values."""
        return list(self._process.store("get", keys, timeout_ps=_ps(self._timeout)))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of keys."""
        self._process.store("set", keys, [*map(_bytes, values)])

    def has_extended_api(self) -> bool:
        """Return True, because this store has `append`, `multi_get` and `multi_set`."""
        return True

    def delete_key(self, key: str) -> bool:
        """Delete a key; return whether it had a value."""
        return bool(self._process.store("delete", [key]))

    def num_keys(self) -> int:
        """Return the number of keys."""
        return int(self._process.store("count", []))

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the longest wait for a key."""
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        """Longest wait for a key."""
        return self._timeout


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _ps(timeout: timedelta) -> int:
    return round(timeout.total_seconds() * 10**12)


def install(process: RankProcess) -> None:
    """Make `init_process_group` use the store of the fabric's process, for every `init_method`.

    A script may give `rank` and `world_size` of the group; their order need not follow the ranks of the run.
    """

    def handler(url: str, timeout: timedelta = timedelta(minutes=5), **_: object) -> Iterator[Any]:
        address, _, query = url.partition("?")
        given = parse_qs(query)
        rank, size = int(given.get("rank", ["-1"])[0]), int(given.get("world_size", ["-1"])[0])
        yield (
            dist.PrefixStore(address, FabricStore(process, timeout)),
            process.rank if rank < 0 else rank,
            process.size if size < 0 else size,
        )

    for scheme in ("env", "tcp", "file"):
        _rendezvous_handlers[scheme] = handler
