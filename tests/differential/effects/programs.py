# SPDX-License-Identifier: Apache-2.0
"""Programs in which effects on one frame meet: one with every pair, and random ones.

Both send a frame to port 1. Multicast group 1, and a clone session for each port, are those of `replication`.
No frame is at work without end: it is resubmitted once and recirculated once, and no clone is cloned.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import final

from finsy.proto import p4r

from controller.p4runtime.client import ProgramFiles
from tests.differential.effects.document import (
    ORDER,
    If,
    Json,
    Op,
    Statement,
    apply,
    assign,
    constant,
    log,
    metadata,
    note,
    operation,
    order,
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


def _effect(name: str, control: str, length: int, session: int) -> list[Statement]:
    """Return the statements of an effect. A truncation is to `length` bytes, a clone goes to `session`."""
    cloned = operation(
        "or",
        operation("==", standard("instance_type"), constant(_NORMAL)),
        operation("==", standard("instance_type"), constant(_REPLICATED)),
    )
    primitive = f"clone_{control}_pkt_to_egress"
    match name:
        case "truncate":
            return [log("effect truncate"), apply("truncate", constant(length))]
        case "clone" | "keeping clone":
            fields = constant(2 if name == "keeping clone" else 3)
            clone: list[Statement] = [log("effect clone"), apply(primitive, constant(session), fields)]
            return clone if control == "ingress" else [If(cloned, clone)]
        case "resubmit":
            first = operation("!=", standard("instance_type"), constant(_RESUBMITTED))
            return [If(first, [log("effect resubmit"), apply("resubmit", constant(1))])]
        case "recirculate":
            first = operation("==", metadata("recirculated"), constant(0))
            again = [assign(order("recirculated"), constant(1)), apply("recirculate", constant(1))]
            return [If(first, [log("effect recirculate"), *again])]
        case "multicast":
            return [log("effect multicast"), assign(standard("mcast_grp"), constant(1))]
        case "digest":
            values = [assign(metadata("digest_number"), order("number"))]
            values.append(assign(metadata("digest_kept"), metadata("kept")))
            return [log("effect digest"), *values, apply("generate_digest", constant(1), constant(1))]
        case _:
            drop = apply("mark_to_drop", {"type": "header", "value": "standard_metadata"})
            return [log("effect drop"), drop]


def _add(target: Json, value: int) -> Op:
    return assign(target, operation("+", target, constant(value)), 16)


_BEGIN_INGRESS: tuple[Statement, ...] = (
    log("begin ingress"),
    assign(standard("egress_spec"), constant(1)),
    assign(metadata("lost"), constant(0x5555)),
    _add(metadata("kept"), 1),
)
# Egress writes down what it sees.
_BEGIN_EGRESS: tuple[Statement, ...] = (
    log("begin egress"),
    assign(metadata("recirculated"), order("recirculated"), 8),
    assign(order("instance"), standard("instance_type"), 8),
    assign(order("port"), standard("egress_port"), 8),
    assign(order("rid"), standard("egress_rid")),
    assign(order("kept"), operation("+", metadata("kept"), metadata("lost")), 16),
    assign(order("length"), standard("packet_length"), 16),
)


# -- every pair


def every_pair() -> ProgramFiles:
    """Return a program whose frames name two effects of ingress and two of egress, in this order.

    The second truncation of ingress cuts shorter than the first, that of egress longer.
    """

    def chosen(field: str, codes: dict[int, str], control: str, length: int, session: int) -> list[Statement]:
        return [
            If(
                operation("==", order(field), constant(code)),
                _effect(name, control, length, session),
            )
            for code, name in codes.items()
        ]

    ingress = [
        *_BEGIN_INGRESS,
        *chosen("ingress_first", _INGRESS_CODES, "ingress", 40, 1),
        _add(metadata("kept"), 0x10),
        *chosen("ingress_second", _INGRESS_CODES, "ingress", 30, 2),
    ]
    egress = [
        *_BEGIN_EGRESS,
        *chosen("egress_first", _EGRESS_CODES, "egress", 26, 3),
        _add(metadata("kept"), 0x100),
        *chosen("egress_second", _EGRESS_CODES, "egress", 36, 4),
    ]
    return program(ingress, egress)


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
        """Return some statements, with conditions in at most so many levels."""
        statements: list[Statement] = []
        makers: tuple[Callable[[], list[Statement]], ...] = (self._effects, self._change, self._header)
        for _ in range(self._chance.randrange(1, 5)):
            if depth and self._chance.random() < 0.6:
                other = self.block(depth - 1) if self._chance.random() < 0.4 else []
                statements.append(If(self._condition(), self.block(depth - 1), other))
            else:
                statements += self._chance.choice((self._effects, *makers))()
        if self._chance.random() < 0.05:
            statements.append(If(self._condition(), [apply("exit")]))
        return statements

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
        chance = self._chance
        names = [*EFFECTS[self._control], "keeping clone"]
        result: list[Statement] = []
        for name in chance.choices(names, k=chance.randrange(1, 4)):
            result += _effect(name, self._control, chance.randrange(20, 70), chance.randrange(1, 11))
        return result

    def _change(self) -> list[Statement]:
        """Change what a copy does or does not take with it."""
        chance = self._chance
        target = chance.choice((metadata("kept"), metadata("lost"), order("rid")))
        if self._control == "ingress" and chance.random() < 0.4:
            return [assign(standard("egress_spec"), constant(chance.choice((*range(8), 511))))]
        return [assign(target, operation("^", target, constant(chance.getrandbits(16))), 16)]

    def _header(self) -> list[Statement]:
        """Add the header behind the first one, or remove it, which changes the length of the frame."""
        header = {"type": "header", "value": "note"}
        if self._chance.random() < 0.4:
            return [apply("remove_header", header)]
        return [
            apply("add_header", header),
            assign(note("seen"), constant(self._chance.getrandbits(16))),
            assign(note("kept"), metadata("kept")),
        ]
