# SPDX-License-Identifier: Apache-2.0
"""Table entries of a user's own program, from JSON or a P4Runtime WriteRequest in text form.

JSON maps each node to a list of entries; `*` stands for every node:

    {"npu0": [{"table": "ipv4", "match": {"dst": ["10.0.1.0", 24]},
               "action": "forward", "params": {"port": 2}}]}

A folder has a file NODE.json or NODE-runtime.json with a node's list, which may be the value of a key
`table_entries`, as in the tutorials of the P4 language project. An entry with `"default_action": true` sets
the default action of its table.

A value is a number, a number as text (0x1f), an IPv4 or IPv6 address or a MAC. The value of an lpm, ternary
or range key is a list with a second value: the prefix length, the mask or the upper end. `action_name` and
`action_params`, as in the entries of many BMv2 programs, are read as `action` and `params`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from finsy.proto import p4r
from google.protobuf import text_format

from controller.errors import InstallError
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Exact, Lpm, Match, Optional, Range, Ternary

__all__ = ["node_entries", "read_entries"]

_SHAPE = "write {NODE: [{table, match, action, params, priority}]}; docs/use/bring-your-own.md"
_KEYS = frozenset(
    {"table", "match", "action", "action_name", "params", "action_params", "priority", "default_action"}
)
_SINGLE: Mapping[type[Match], type[Exact] | type[Optional]] = {Exact: Exact, Optional: Optional}
_PAIRS: Mapping[type[Match], type[Lpm] | type[Ternary] | type[Range]] = {
    Lpm: Lpm,
    Ternary: Ternary,
    Range: Range,
}


def read_entries(path: Path, info: P4Info, nodes: Iterable[str]) -> dict[str, list[Entry]]:
    """Return the entries of each of `nodes`, from a file or a folder.

    A WriteRequest is for the node at its device id, from 1, or for every node if it is 0. InstallError names
    the file, node and entry; an entry of a WriteRequest that the p4info lacks, only its table id.
    """
    names = list(nodes)
    if path.is_dir():
        return _from_folder(path, info, names)
    text = _text(path)
    if path.suffix == ".json":
        return _from_json(path, text, info, names)
    message = p4r.WriteRequest()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as ex:
        raise InstallError(
            f"{path} is not a WriteRequest in text form: {ex}", remedy="correct the file, or give JSON"
        ) from None
    number = message.device_id
    own = [info.decode(update.entity.table_entry) for update in message.updates]
    if number > len(names):
        raise InstallError(
            f"{path}: no node has device id {number}", remedy=f"give 1 to {len(names)}, or 0 for every node"
        )
    return {name: own if number in (0, at) else [] for at, name in enumerate(names, 1)}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as ex:
        raise InstallError(
            f"{path} cannot be read: {getattr(ex, 'strerror', None) or 'it is not UTF-8 text'}", remedy=_SHAPE
        ) from None


def _document(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as ex:
        raise InstallError(
            f"{path}:{ex.lineno}: the file is not JSON: {ex.msg}", remedy="correct the line"
        ) from None


def _from_folder(folder: Path, info: P4Info, names: list[str]) -> dict[str, list[Entry]]:
    entries: dict[str, list[Entry]] = {name: [] for name in names}
    present: dict[str, Path] = {}
    for name in names:
        for path in (folder / f"{name}.json", folder / f"{name}-runtime.json"):
            if path.is_file():
                present[name] = path
    if not present:
        raise InstallError(
            f"{folder} has no file {names[0]}.json or {names[0]}-runtime.json",
            remedy="name each file by its node",
        )
    for name, path in present.items():
        document = _document(path, _text(path))
        rows = document.get("table_entries") if isinstance(document, dict) else document
        entries[name] = node_entries(path, name, rows, info)
    return entries


def node_entries(path: Path, node: str, rows: Any, info: P4Info) -> list[Entry]:
    """Return the entries of a node from JSON `rows`; InstallError for an entry that no message can carry."""
    if not isinstance(rows, list):
        raise InstallError(f"{path}: the value of {node} is not a list of entries", remedy=_SHAPE)
    entries: list[Entry] = []
    for number, row in enumerate(rows):
        try:
            entries.append(_entry(row, info))
            info.encode(entries[-1])
        except InstallError as ex:
            raise InstallError(f"{path}: {node}[{number}]: {ex.message}", remedy=ex.remedy) from None
    return entries


def _from_json(path: Path, text: str, info: P4Info, names: list[str]) -> dict[str, list[Entry]]:
    document = _document(path, text)
    if not isinstance(document, dict):
        raise InstallError(f"{path} does not map nodes to entries", remedy=_SHAPE)
    entries: dict[str, list[Entry]] = {name: [] for name in names}
    for node, rows in document.items():
        if node != "*" and node not in entries:
            raise InstallError(
                f"{path}: the fabric has no node {node!r}",
                remedy=f"use names of nodes: {', '.join(names[:4])} ...",
            )
        own = node_entries(path, node, rows, info)
        for name in names if node == "*" else [node]:
            entries[name] += own
    return entries


def _entry(row: Any, info: P4Info) -> Entry:
    unknown = sorted(set(row) - _KEYS) if isinstance(row, dict) else [str(row)]
    if unknown or "table" not in row:
        raise InstallError(f"no entry: {', '.join(unknown) or 'no table'}", remedy=_SHAPE)
    kinds, actions = info.layout(row["table"])
    action = row.get("action", row.get("action_name", ""))
    params = row.get("params", row.get("action_params", {}))
    match: list[tuple[str, Match]] = []
    for name, value in row.get("match", {}).items():
        match.append((name, _match(name, value, kinds.get(name))))
    # Parameters in the order of the action; unknown parameters come last, for the error message.
    order = {name: at for at, name in enumerate(actions.get(action, ()))}
    values = sorted(params.items(), key=lambda item: order.get(item[0], len(order)))
    return Entry(
        row["table"],
        tuple(match),
        action,
        tuple((name, _number(name, value)) for name, value in values),
        row.get("priority", 0),
        default=row.get("default_action", False) is True,
    )


def _match(name: str, value: Any, kind: type[Match] | None) -> Match:
    if kind is None or kind in _SINGLE:
        return (_SINGLE[kind] if kind else Exact)(_number(name, value))
    if not isinstance(value, list) or len(value) != 2:
        raise InstallError(
            f"{name} is {value!r}, which is not a pair",
            remedy="give two values: [value, prefix, mask or upper end]",
        )
    return _PAIRS[kind](_number(name, value[0]), _number(name, value[1]))


def _number(name: str, value: Any) -> int:
    """Return the number of a value: a number, its text, an IP address or a MAC."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    readers: tuple[Callable[[str], int], ...] = (
        lambda text: int(text, 0),
        lambda text: int(ip_address(text)),
        _mac,
    )
    if isinstance(value, str):
        for read in readers:
            try:
                return read(value)
            except ValueError:
                continue
    raise InstallError(
        f"{name} is {value!r}, which is not a value of a field",
        remedy="give a number, an IP address or a MAC",
    )


def _mac(text: str) -> int:
    octets = bytes.fromhex(text.replace(":", ""))
    if len(octets) != 6:
        raise ValueError(text)
    return int.from_bytes(octets)
