# SPDX-License-Identifier: Apache-2.0
"""The statements of an STF file on the built-in engine, in this process."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from emulation._engine import Network, Program
from tests.differential.stf.language import (
    Add,
    CheckCounter,
    Command,
    Packet,
    RemoveAll,
    SetDefault,
    Statement,
    StfError,
)
from tests.differential.stf.names import Entry, Names, lookup
from tests.differential.stf.verdict import Outputs, counter_agrees

__all__ = ["EngineRun", "run_on_engine"]

_STATUS = ("OK", "ALREADY_EXISTS", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "PERMISSION_DENIED")
# simple_switch_CLI gives rates in units a microsecond.
_PER_SECOND = 1_000_000


def run_on_engine(bmv2_json: bytes, statements: Sequence[Statement]) -> Outputs:
    """ProgramError where the engine cannot run the program, StfError where it refuses a statement."""
    run = EngineRun(bmv2_json)
    for statement in statements:
        run.take(statement)
    return run.outputs


class EngineRun:
    """A switch that takes statement after statement; what left it is in `outputs`."""

    def __init__(self, bmv2_json: bytes) -> None:
        self._names = Names(bmv2_json)
        self._program = Program(bmv2_json)
        self._network = Network()
        self._switch = self._network.add_switch("stf")
        self._network.set_program(self._switch, self._program)
        self.outputs: Outputs = {}
        self._members = 0  # of all profiles
        self._nodes: list[tuple[int, list[int]]] = []  # rid, ports
        self._groups: dict[int, list[int]] = {}  # multicast group: its nodes
        self._mirrored_groups: dict[int, int] = {}  # clone session: multicast group
        self._commands: dict[str, Callable[..., None]] = {
            "mirroring_add": self._mirroring_add,
            "mirroring_add_mc": self._mirroring_add_mc,
            "mirroring_delete": self._mirroring_delete,
            "mirroring_get": lambda session: None,
            "mc_mgrp_create": self._mc_mgrp_create,
            "mc_node_create": self._mc_node_create,
            "mc_node_update": self._mc_node_update,
            "mc_node_associate": self._mc_node_associate,
            "counter_read": self._counter_read,
            "counter_write": self._counter_write,
            "register_read": self._register_read,
            "register_write": self._register_write,
            "register_reset": self._register_reset,
            "meter_get_rates": self._meter_get_rates,
            "meter_set_rates": self._meter_set_rates,
            "meter_array_set_rates": self._meter_array_set_rates,
        }

    def take(self, statement: Statement) -> None:
        match statement:
            case Packet():
                for port, frame in self._network.process(self._switch, statement.port, statement.data):
                    self.outputs.setdefault(port, []).append(frame)
            case Add():
                entry = self._names.entry(statement)
                if entry.table.profile is not None:
                    self._check(statement, self._add_group(entry))
                    return
                table, action, arguments = self._resolved(entry)
                # P4Runtime knows no priority 0.
                priority = entry.priority + 1 if entry.table.ordered else 0
                done = self._network.table_insert(
                    self._switch, table["handle"], _keys(entry, table), priority, action, arguments
                )
                self._check(statement, done)
            case SetDefault():
                table, action, arguments = self._resolved(self._names.entry(statement))
                done = self._network.table_set_default(self._switch, table["handle"], action, arguments)
                self._check(statement, done)
            case RemoveAll():
                self._remove_all()
            case CheckCounter():
                self._check_counter(statement)
            case Command():
                try:
                    self._commands[statement.name](*statement.arguments)
                except (TypeError, ValueError, LookupError) as ex:
                    raise StfError(f"line {statement.line}: {statement.name}: {ex}") from ex

    def _check(self, statement: Add | SetDefault, status: int) -> None:
        if status:
            raise StfError(f"line {statement.line}: table {statement.table} refuses it: {_STATUS[status]}")

    def _resolved(self, entry: Entry) -> tuple[dict[str, Any], int, list[bytes]]:
        table = next(table for table in self._program.tables if table["name"] == entry.table.name)
        actions = self._program.actions
        action = next(actions[n] for n in table["actions"] if actions[n]["name"] == entry.action)
        arguments = [
            _bytes(value, bits) for value, (_, bits) in zip(entry.arguments, action["params"], strict=True)
        ]
        return table, action["handle"], arguments

    def _add_group(self, entry: Entry) -> int:
        """Insert an entry of a table with a selector, with a group of its own; return the status."""
        profiles = self._program.profiles
        profile = next(item["handle"] for item in profiles if item["name"] == entry.table.profile)
        table, *_ = self._resolved(entry)
        members: list[int] = []
        for call in ((entry.action, entry.arguments), *entry.others):
            _, action, arguments = self._resolved(replace(entry, action=call[0], arguments=call[1]))
            self._members += 1
            if status := self._network.member_insert(self._switch, profile, self._members, action, arguments):
                return status
            members.append(self._members)
        group = self._members
        weighted = [(member, 1) for member in members]
        if status := self._network.group_set(self._switch, profile, group, weighted):
            return status
        priority = entry.priority + 1 if entry.table.ordered else 0
        return self._network.table_point(
            self._switch, table["handle"], _keys(entry, table), priority, True, group, True
        )

    def _remove_all(self) -> None:
        for table in self._program.tables:
            for keys, priority, *_ in self._network.table_read(self._switch, table["handle"]):
                self._network.table_delete(self._switch, table["handle"], keys, priority)

    def _check_counter(self, statement: CheckCounter) -> None:
        counter = self._array("counter", statement.counter)
        packets, octets = self._network.counter_read(self._switch, counter["handle"], statement.index)
        if problem := counter_agrees(statement, packets, octets):
            raise StfError(problem)

    def _array(self, kind: str, wanted: str) -> dict[str, Any]:
        arrays: list[dict[str, Any]] = getattr(self._program, kind + "s")
        name = lookup(kind, wanted, [array["name"] for array in arrays])
        return next(array for array in arrays if array["name"] == name)

    def _mirroring_add(self, session: str, port: str) -> None:
        self._network.clone_set(self._switch, int(session), [(int(port), 0)], 0)

    def _mirroring_add_mc(self, session: str, group: str) -> None:
        self._mirrored_groups[int(session)] = int(group)
        self._set_groups()

    def _mirroring_delete(self, session: str) -> None:
        self._mirrored_groups.pop(int(session), None)
        self._network.clone_delete(self._switch, int(session))

    def _mc_mgrp_create(self, group: str) -> None:
        self._groups[int(group)] = []
        self._set_groups()

    def _mc_node_create(self, rid: str, *ports: str) -> None:
        self._nodes.append((int(rid), [int(port) for port in ports]))

    def _mc_node_update(self, node: str, *ports: str) -> None:
        self._nodes[int(node)] = self._nodes[int(node)][0], [int(port) for port in ports]
        self._set_groups()

    def _mc_node_associate(self, group: str, node: str) -> None:
        self._groups[int(group)].append(int(node))
        self._set_groups()

    def _set_groups(self) -> None:
        copies = {
            group: [(port, self._nodes[node][0]) for node in nodes for port in self._nodes[node][1]]
            for group, nodes in self._groups.items()
        }
        for group, replicas in copies.items():
            self._network.multicast_set(self._switch, group, replicas)
        for session, group in self._mirrored_groups.items():
            self._network.clone_set(self._switch, session, copies.get(group, []), 0)

    def _counter_read(self, name: str, index: str) -> None:
        self._network.counter_read(self._switch, self._array("counter", name)["handle"], int(index))

    def _counter_write(self, name: str, index: str, packets: str, octets: str) -> None:
        handle = self._array("counter", name)["handle"]
        self._network.counter_write(self._switch, handle, int(index), int(packets), int(octets))

    def _register_read(self, name: str, index: str = "0") -> None:
        self._network.register_read_bytes(self._switch, self._array("register", name)["handle"], int(index))

    def _register_write(self, name: str, index: str, value: str) -> None:
        register = self._array("register", name)
        written = _bytes(int(value, 0), register["bits"])
        self._network.register_write_bytes(self._switch, register["handle"], int(index), written)

    def _register_reset(self, name: str) -> None:
        register = self._array("register", name)
        for index in range(register["size"]):
            zero = _bytes(0, register["bits"])
            self._network.register_write_bytes(self._switch, register["handle"], index, zero)

    def _meter_get_rates(self, name: str, index: str) -> None:
        self._network.meter_read(self._switch, self._array("meter", name)["handle"], int(index))

    def _meter_set_rates(self, name: str, index: str, *rates: str) -> None:
        meter = self._array("meter", name)
        self._network.meter_write(self._switch, meter["handle"], int(index), _rates(rates))

    def _meter_array_set_rates(self, name: str, *rates: str) -> None:
        meter = self._array("meter", name)
        for index in range(meter["size"]):
            self._network.meter_write(self._switch, meter["handle"], index, _rates(rates))


def _keys(entry: Entry, table: dict[str, Any]) -> list[tuple[bytes, bytes, int]]:
    keys: list[tuple[bytes, bytes, int]] = []
    for match, key in zip(entry.matches, table["keys"], strict=True):
        own_extra = key["match"] in ("ternary", "range")
        extra = _bytes(match.extra, key["bits"]) if own_extra else b""
        keys.append((_bytes(match.value, key["bits"]), extra, match.prefix))
    return keys


def _bytes(value: int, bits: int) -> bytes:
    return value.to_bytes((bits + 7) // 8)


def _rates(rates: Sequence[str]) -> tuple[int, int, int, int]:
    (cir, cburst), (pir, pburst) = (rate.split(":") for rate in rates)
    return (
        round(float(cir) * _PER_SECOND),
        int(cburst),
        round(float(pir) * _PER_SECOND),
        int(pburst),
    )
