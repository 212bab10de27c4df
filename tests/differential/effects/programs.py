# SPDX-License-Identifier: Apache-2.0
"""Programs in which effects on one frame meet: one with every pair, and random ones.

Effects stand in the controls themselves and in actions of tables. Both kinds of program send a frame to
port 1. Multicast group 1, and a clone session for each port, are those of `replication`.
No frame is at work without end: it is resubmitted once and recirculated once, and no clone is cloned.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import final

from finsy.proto import p4r

from controller.p4runtime.client import ProgramFiles
from tests.differential.effects.document import (
    ORDER,
    Action,
    Entry,
    If,
    Json,
    Op,
    Statement,
    Table,
    apply,
    assign,
    constant,
    log,
    metadata,
    note,
    operation,
    order,
    parameter,
    program,
    standard,
)
from tests.differential.effects.pairs import EFFECTS

__all__ = ["every_frame", "every_pair", "frame_of", "random_frames", "random_program", "replication"]

_CODES = range(8)
# Effects by their code in the header; 0 and what is not listed have no effect.
_FIRST_CODES: dict[int, str] = {1: "truncate", 2: "clone", 3: "keeping clone"}
_INGRESS_CODES = _FIRST_CODES | dict(enumerate(EFFECTS["ingress"][2:], start=4))
_EGRESS_CODES = _FIRST_CODES | dict(enumerate(EFFECTS["egress"][2:], start=4))
_PAYLOAD_BYTES = 46
_NORMAL, _REPLICATED, _RESUBMITTED = 0, 5, 6  # values of instance_type
# Bits of the metadata `allowed`, without which a frame would be at work without end.
_MAY_CLONE, _MAY_RETURN = 1, 2


def replication() -> list[p4r.Update]:
    """Return the updates that make the multicast group and the clone sessions."""
    updates: list[p4r.Update] = []
    group = p4r.MulticastGroupEntry(multicast_group_id=1)
    for port in (2, 3):
        group.replicas.add(egress_port=port, instance=0x10 + port)
    update = p4r.Update(type=p4r.Update.INSERT)
    update.entity.packet_replication_engine_entry.multicast_group_entry.CopyFrom(group)
    updates.append(update)
    for session in range(1, 10):
        entry = p4r.CloneSessionEntry(session_id=session)
        ports = {(session + 3) % 8, *((0, 6) if session == 1 else ())}
        for port in sorted(ports):
            entry.replicas.add(egress_port=port, instance=session)
        update = p4r.Update(type=p4r.Update.INSERT)
        update.entity.packet_replication_engine_entry.clone_session_entry.CopyFrom(entry)
        updates.append(update)
    return updates


# -- effects


def _effect(name: str, control: str, length: Json, session: Json, place: str = "") -> tuple[int, list[Op]]:
    """Return the primitives of an effect, and the bits of `allowed` that it needs.

    A truncation is to `length` bytes, a clone goes to `session`; `place` ends the log message.
    """
    said = log(f"effect {name.removeprefix('keeping ')}{place}")
    match name:
        case "truncate":
            return 0, [said, apply("truncate", length)]
        case "clone" | "keeping clone":
            fields = constant(2 if name == "keeping clone" else 3)
            return _MAY_CLONE, [said, apply(f"clone_{control}_pkt_to_egress", session, fields)]
        case "resubmit":
            return _MAY_RETURN, [said, apply("resubmit", constant(1))]
        case "recirculate":
            return _MAY_RETURN, [said, assign(order(name + "d"), constant(1)), apply(name, constant(1))]
        case "multicast":
            return 0, [said, assign(standard("mcast_grp"), constant(1))]
        case "digest":
            values = [assign(metadata("digest_number"), order("number"))]
            values.append(assign(metadata("digest_kept"), metadata("kept")))
            return 0, [said, *values, apply("generate_digest", constant(1), constant(1))]
        case _:
            return 0, [said, apply("mark_to_drop", {"type": "header", "value": "standard_metadata"})]


def _guarded(effect: tuple[int, Sequence[Op]]) -> list[Statement]:
    """Return the statements of an effect that is carried out where it is allowed."""
    bits, operations = effect
    if not bits:
        return [*operations]
    allowed = operation("&", metadata("allowed"), constant(bits))
    return [If(operation("==", allowed, constant(bits)), operations)]


def _add(target: Json, value: int, bits: int = 16) -> Op:
    return assign(target, operation("+", target, constant(value)), bits)


def _instance(*types: int) -> Json:
    """Return whether a frame is of one of two instance types."""
    first, second = (operation("==", standard("instance_type"), constant(type)) for type in types)
    return operation("or", first, second)


_BEGIN_INGRESS: tuple[Statement, ...] = (
    log("begin ingress"),
    assign(standard("egress_spec"), constant(1)),
    assign(metadata("lost"), constant(0x5555)),
    _add(metadata("kept"), 1),
    assign(metadata("allowed"), constant(_MAY_CLONE)),
    If(
        operation("!=", standard("instance_type"), constant(_RESUBMITTED)),
        [_add(metadata("allowed"), _MAY_RETURN, 8)],
    ),
)
# Egress writes down what it sees.
_BEGIN_EGRESS: tuple[Statement, ...] = (
    log("begin egress"),
    assign(order("instance"), standard("instance_type"), 8),
    assign(order("port"), standard("egress_port"), 8),
    assign(order("rid"), standard("egress_rid")),
    assign(order("kept"), operation("+", metadata("kept"), metadata("lost")), 16),
    assign(order("length"), standard("packet_length"), 16),
    assign(metadata("allowed"), constant(0)),
    If(_instance(_NORMAL, _REPLICATED), [_add(metadata("allowed"), _MAY_CLONE, 8)]),
    If(
        operation("==", order("recirculated"), constant(0)),
        [_add(metadata("allowed"), _MAY_RETURN, 8)],
    ),
)


# -- every pair


def every_pair(first: bool = False, second: bool = False) -> ProgramFiles:
    """Return a program whose frames name two effects of ingress and two of egress, in this order.

    The second truncation of ingress cuts shorter than the first, that of egress longer. The `first` effects,
    or the `second` ones, are actions of a table, which do the same as statements.
    """

    def chosen(in_table: bool, field: str, control: str, length: int, session: int) -> list[Statement]:
        codes = _INGRESS_CODES if control == "ingress" else _EGRESS_CODES
        place = " in table" if in_table else ""
        effects = {
            code: _effect(name, control, constant(length), constant(session), place)
            for code, name in codes.items()
        }
        if in_table:
            return [_table_by_code(field, effects)]
        return [
            If(operation("==", order(field), constant(code)), _guarded(effect))
            for code, effect in effects.items()
        ]

    ingress = [
        *_BEGIN_INGRESS,
        *chosen(first, "ingress_first", "ingress", 40, 1),
        _add(metadata("kept"), 0x10),
        *chosen(second, "ingress_second", "ingress", 30, 2),
    ]
    egress = [
        *_BEGIN_EGRESS,
        *chosen(first, "egress_first", "egress", 26, 3),
        _add(metadata("kept"), 0x100),
        *chosen(second, "egress_second", "egress", 36, 4),
    ]
    return program(ingress, egress)


def _table_by_code(field: str, effects: dict[int, tuple[int, list[Op]]]) -> Table:
    """Return a table that selects an effect by a header field and by the effects that are still allowed."""
    whole = (1 << dict(ORDER)[field]) - 1
    return Table(
        keys=(order(field), metadata("allowed")),
        actions=[*(Action(operations) for _, operations in effects.values()), Action(())],
        entries=[
            Entry(((code, whole), (bits, bits)), at) for at, (code, (bits, _)) in enumerate(effects.items())
        ],
    )


def every_frame() -> Iterator[bytes]:
    """Yield a frame for each combination of effects that `every_pair` knows."""
    ingress = (0, *_INGRESS_CODES)
    egress = (0, *_EGRESS_CODES)
    for number, codes in enumerate(product(ingress, ingress, egress, egress)):
        yield frame_of(number, codes)


def frame_of(number: int, codes: Sequence[int] = (0, 0, 0, 0), choice: int = 0) -> bytes:
    """Return a frame with a number and the codes of its effects."""
    values = dict(
        zip(("ingress_first", "ingress_second", "egress_first", "egress_second"), codes, strict=True)
    )
    values |= {"number": number & 0xFFFF, "choice": choice}
    header = 0
    for name, bits in ORDER:
        header = header << bits | values.get(name, 0)
    size = sum(bits for _, bits in ORDER) // 8
    return header.to_bytes(size) + bytes(at & 0xFF for at in range(number, number + _PAYLOAD_BYTES))


# -- random programs


def random_program(seed: int) -> ProgramFiles:
    """Return a program with random effects under random conditions, some of them in a row."""
    chance = random.Random(seed)
    ingress = [*_BEGIN_INGRESS, *_Random(chance, "ingress").block(3)]
    egress = [*_BEGIN_EGRESS, *_Random(chance, "egress").block(3)]
    return program(ingress, egress)


def random_frames(seed: int, count: int) -> Iterator[bytes]:
    """Yield frames whose `choice` decides what a random program does with them."""
    chance = random.Random(-seed)
    for number in range(count):
        codes = [chance.choice(_CODES) for _ in range(4)]
        yield frame_of(number, codes, chance.getrandbits(32))


@final
class _Random:
    """Random statements of a control."""

    def __init__(self, chance: random.Random, control: str) -> None:
        self._chance, self._control = chance, control

    def block(self, depth: int) -> list[Statement]:
        """Return some statements, with conditions and tables in at most so many levels."""
        statements: list[Statement] = []
        for _ in range(self._chance.randrange(1, 5)):
            if depth and self._chance.random() < 0.6:
                other = self.block(depth - 1) if self._chance.random() < 0.4 else []
                if self._chance.random() < 0.4:
                    hit = self.block(depth - 1) if self._chance.random() < 0.3 else []
                    statements.append(self._table(hit, other))
                else:
                    statements.append(If(self._condition(), self.block(depth - 1), other))
            else:
                statements += self._chance.choice((self._effects, self._effects, self._other))()
        if self._chance.random() < 0.05:
            statements.append(If(self._condition(), [apply("exit")]))
        return statements

    def _table(self, hit: Sequence[Statement], miss: Sequence[Statement]) -> Table:
        """Return a table whose entries match part of `choice`."""
        chance = self._chance
        pairs = [self._action(chance.randrange(3)) for _ in range(chance.randrange(1, 4))]
        entries: list[Entry] = []
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(pairs))
            needed, action = pairs[at]
            mask = chance.choice((1, 3)) << chance.randrange(30)
            keys = ((chance.getrandbits(32) & mask, mask), (needed, needed))
            # Each is a length or the number of a clone session.
            arguments = [chance.choice((0, 20)) + chance.randrange(1, 11) for _ in range(action.parameters)]
            entries.append(Entry(keys, at, arguments))
        default = Action(self._operations(allowed=0)[1] if chance.random() < 0.4 else ())
        actions = (*(action for _, action in pairs), default)
        return Table((order("choice"), metadata("allowed")), actions, entries, hit, miss)

    def _action(self, parameters: int) -> tuple[int, Action]:
        """Return an action with so many parameters, and the bits of `allowed` that it needs."""
        values = [parameter(at) for at in range(parameters)]
        bits, operations = self._operations(_MAY_CLONE | _MAY_RETURN, values)
        if self._chance.random() < 0.05:
            operations.append(apply("exit"))
        return bits, Action(operations, parameters)

    def _operations(self, allowed: int, parameters: Sequence[Json] = ()) -> tuple[int, list[Op]]:
        """Return the primitives of an action, and the bits that they need, some of those of `allowed`."""
        needed, operations = 0, list[Op]()
        for _ in range(self._chance.randrange(1, 4)):
            bits, effect = self._effect(" in table", parameters)
            if bits & ~allowed or self._chance.random() < 0.2:
                operations += self._other()
            else:
                needed |= bits
                operations += effect
        return needed, operations

    def _condition(self) -> Json:
        chance = self._chance
        shift, bits = chance.randrange(30), chance.randrange(1, 3)
        part = operation("&", operation(">>", order("choice"), constant(shift)), constant((1 << bits) - 1))
        own = operation(chance.choice(("==", "!=")), part, constant(chance.randrange(1 << bits)))
        if chance.random() < 0.8:
            return own
        kind = operation(
            chance.choice(("==", "!=")), standard("instance_type"), constant(chance.randrange(6))
        )
        return operation(chance.choice(("and", "or")), own, kind)

    def _effects(self) -> list[Statement]:
        effects = (self._effect() for _ in range(self._chance.randrange(1, 4)))
        return [statement for effect in effects for statement in _guarded(effect)]

    def _effect(self, place: str = "", parameters: Sequence[Json] = ()) -> tuple[int, list[Op]]:
        """Return an effect, with constants or the parameters of an action."""
        chance = self._chance
        name = chance.choice([*EFFECTS[self._control], "keeping clone"])
        length = chance.choice([constant(chance.randrange(20, 70)), *parameters])
        session = chance.choice([constant(chance.randrange(1, 11)), *parameters])
        return _effect(name, self._control, length, session, place)

    def _other(self) -> list[Op]:
        return self._chance.choice((self._change, self._header))()

    def _change(self) -> list[Op]:
        """Change what a copy does or does not take with it."""
        chance = self._chance
        target = chance.choice((metadata("kept"), metadata("lost"), order("rid")))
        if self._control == "ingress" and chance.random() < 0.4:
            return [assign(standard("egress_spec"), constant(chance.choice((*range(8), 511))))]
        return [assign(target, operation("^", target, constant(chance.getrandbits(16))), 16)]

    def _header(self) -> list[Op]:
        """Add the header behind the first one, or remove it, which changes the length of the frame."""
        header = {"type": "header", "value": "note"}
        if self._chance.random() < 0.4:
            return [apply("remove_header", header)]
        return [
            apply("add_header", header),
            assign(note("seen"), constant(self._chance.getrandbits(16))),
            assign(note("kept"), metadata("kept")),
        ]
