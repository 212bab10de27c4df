# SPDX-License-Identifier: Apache-2.0
"""Table entries of a user's own program, from JSON or a P4Runtime WriteRequest in text form.

JSON maps each node to a list of entries; `*` stands for every node:

    {"npu0": [{"table": "ipv4", "match": {"dst": ["10.0.1.0", 24]},
               "action": "forward", "params": {"port": 2}}]}

In a folder, the file NODE.json or NODE-runtime.json has the list of a node. The list may be the value of a
key `table_entries`, as in the tutorials of the P4 language project. An entry with `"default_action": true`
sets the default action of its table.

A value is a number, a number as text (0x1f), an IPv4 or IPv6 address or a MAC. The value of an lpm, ternary
or range key is a list with a second value: the prefix length, the mask or the upper end. `action_name` and
`action_params`, as in the entries of many BMv2 programs, are read as `action` and `params`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

from finsy.proto import p4r
from google.protobuf import text_format
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from controller.errors import InstallError
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Exact, Lpm, Match, Optional, Range, Ternary

__all__ = ["node_entries", "read_entries"]

_SHAPE = "write {NODE: [{table, match, action, params, priority}]}; see docs/use/bring-your-own.md"
_SINGLE: Mapping[type[Match], type[Exact] | type[Optional]] = {Exact: Exact, Optional: Optional}
_PAIRS: Mapping[type[Match], type[Lpm] | type[Ternary] | type[Range]] = {
    Lpm: Lpm,
    Ternary: Ternary,
    Range: Range,
}


class _Row(BaseModel):
    """The JSON object of an entry; the values of fields and parameters are read by `_number`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    table: str
    match: dict[str, Any] = {}
    action: Annotated[str, Field(validation_alias=AliasChoices("action", "action_name"))] = ""
    params: Annotated[dict[str, Any], Field(validation_alias=AliasChoices("params", "action_params"))] = {}
    priority: Annotated[int, Field(ge=0, lt=1 << 31)] = 0
    default_action: bool = False


def read_entries(path: Path, info: P4Info, nodes: Iterable[str]) -> dict[str, list[Entry]]:
    """Return the entries of each of `nodes`, from a file or a folder.

    The device id of a WriteRequest selects the node: 1 is the first of `nodes`, 0 stands for every node.

    Raises:
        InstallError: The file cannot be read, or an entry cannot be written; the message names the file and
            the entry, and the node where the file is JSON.
    """
    names = list(nodes)
    if path.is_dir():
        return _from_folder(path, info, names)
    text = _text(path)
    if path.suffix == ".json":
        return _from_json(path, text, info, names)
    return _from_request(path, text, info, names)


def _from_request(path: Path, text: str, info: P4Info, names: list[str]) -> dict[str, list[Entry]]:
    message = p4r.WriteRequest()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as ex:
        raise InstallError(
            f"{path} is not a WriteRequest in text form: {ex}", remedy="correct the file, or give JSON"
        ) from None
    number = message.device_id
    if number > len(names):
        raise InstallError(
            f"{path}: no node has device id {number}", remedy=f"give 1 to {len(names)}, or 0 for every node"
        )
    own: list[Entry] = []
    for at, update in enumerate(message.updates):
        try:
            own.append(_inserted(update, info))
        except InstallError as ex:
            raise InstallError(f"{path}: updates[{at}]: {ex.message}", remedy=ex.remedy) from None
    return {name: own if number in (0, at) else [] for at, name in enumerate(names, 1)}


def _inserted(update: p4r.Update, info: P4Info) -> Entry:
    """Return the table entry that an update installs; InstallError for a deletion or another entity."""
    kind, entity = update.type, update.entity.WhichOneof("entity")
    if entity != "table_entry":
        raise InstallError(
            f"expected a table_entry, got {entity or 'an update without an entity'}",
            remedy="write each entry as `entity { table_entry { ... } }`, and a group as the action set of "
            "its entry",
        )
    if kind not in (p4r.Update.INSERT, p4r.Update.MODIFY):
        raise InstallError(
            f"the type is {p4r.Update.Type.Name(kind)}, but the file lists entries to install",
            remedy="give INSERT, or MODIFY for the default action of a table",
        )
    try:
        entry = info.decode(update.entity.table_entry)
    except InstallError as ex:
        raise InstallError(
            ex.message, remedy="take ids of tables, actions and parameters from the p4info"
        ) from None
    info.encode(entry)
    return entry


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as ex:
        raise InstallError(
            f"{path} cannot be read: {getattr(ex, 'strerror', None) or 'it is not UTF-8 text'}", remedy=_SHAPE
        ) from None


def _document(path: Path, text: str) -> Any:
    def without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, times in Counter(key for key, _ in pairs).items():
            if times > 1:
                raise InstallError(
                    f"{path}: key {key!r} occurs {times} times in one object", remedy="give each key once"
                )
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=without_repetitions)
    except json.JSONDecodeError as ex:
        raise InstallError(
            f"{path}:{ex.lineno}: the file is not JSON: {ex.msg}", remedy="correct the line"
        ) from None
    except RecursionError:
        raise InstallError(f"{path}: lists or objects are nested too deeply", remedy=_SHAPE) from None


def _from_folder(folder: Path, info: P4Info, names: list[str]) -> dict[str, list[Entry]]:
    entries: dict[str, list[Entry]] = {name: [] for name in names}
    present: dict[str, Path] = {}
    for name in names:
        files = [
            path for path in (folder / f"{name}.json", folder / f"{name}-runtime.json") if path.is_file()
        ]
        if len(files) == 2:
            raise InstallError(
                f"{folder} has two files for {name}: {name}.json and {name}-runtime.json",
                remedy="delete or rename the file with the entries that are not to be installed",
            )
        present.update((name, path) for path in files)
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
    try:
        own = _Row.model_validate(row)
    except ValidationError as ex:
        first = ex.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InstallError(f"{where or repr(row)} is not valid: {first['msg']}", remedy=_SHAPE) from None
    kinds, actions = info.layout(own.table)
    match = tuple((name, _match(name, value, kinds.get(name))) for name, value in own.match.items())
    # Sort parameters in the order of the action; unknown parameters come last, and `encode` refuses them.
    order = {name: at for at, name in enumerate(actions.get(own.action, ()))}
    values = sorted(own.params.items(), key=lambda item: order.get(item[0], len(order)))
    return Entry(
        own.table,
        match,
        own.action,
        tuple((name, _number(name, value)) for name, value in values),
        own.priority,
        default=own.default_action,
    )


def _match(name: str, value: Any, kind: type[Match] | None) -> Match:
    if kind is None or kind in _SINGLE:
        return (_SINGLE[kind] if kind else Exact)(_number(name, value))
    if not isinstance(value, list) or len(value) != 2:
        raise InstallError(
            f"{name} is {value!r}, which is not a pair",
            remedy="give two values: [value, prefix length], [value, mask] or [lower end, upper end]",
        )
    return _PAIRS[kind](_number(name, value[0]), _number(name, value[1]))


def _number(name: str, value: Any) -> int:
    """Return a value of an entries file as an integer; it may be the text of a number, IP address or MAC."""
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
