# SPDX-License-Identifier: Apache-2.0
"""Random frames that a program's parser takes as far as it can: walks through the states of BMv2's JSON.

Fields take values that tables hold (of the same width), corners of their range, and anything. Some frames are
cut short, prolonged or damaged.
"""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, final

from tests.differential.bmv2 import CPU_PORT
from tests.differential.differential import Frame

__all__ = ["FrameMaker", "Pool"]

_MOST_STATES = 40
_HELD = 16
_KEPT = 256
_LONGEST = 1_800


@final
class Pool:
    """Values worth trying, by their width in bits."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._values: dict[int, list[int]] = defaultdict(list)

    def add(self, value: int, bits: int) -> None:
        values = self._values[bits]
        if len(values) < _HELD:
            values.append(value)
        else:
            values[self._rng.randrange(_HELD)] = value

    def value(self, bits: int) -> int:
        if bits == 0:
            return 0
        rng, kind = self._rng, self._rng.random()
        held = self._values.get(bits)
        if held and kind < 0.5:
            return rng.choice(held) if kind < 0.45 else rng.choice(held) ^ 1 << rng.randrange(bits)
        if kind < 0.8:
            top = (1 << bits) - 1
            return rng.choice((0, 1, 2, 3, 7, top, top - 1, top >> 1, 1 << rng.randrange(bits))) & top
        return rng.getrandbits(bits)


@final
class FrameMaker:
    """Frames for one program, into any of `ports`."""

    def __init__(self, bmv2_json: bytes, ports: Sequence[int], rng: random.Random, pool: Pool) -> None:
        program: dict[str, Any] = json.loads(bmv2_json)
        self._ports, self._rng, self._pool = tuple(ports), rng, pool
        self._kept: dict[int, list[bytes]] = defaultdict(list)
        types = {item["name"]: item["fields"] for item in program["header_types"]}
        self._fields: dict[str, list[tuple[str, Any]]] = {
            item["name"]: [(field[0], field[1]) for field in types[item["header_type"]]]
            for item in program["headers"]
        }
        self._stacks = {
            item["name"]: [program["headers"][n]["name"] for n in item["header_ids"]]
            for item in program["header_stacks"]
        }
        parser = program["parsers"][0]
        self._states = {item["name"]: item for item in parser["parse_states"]}
        self._first: str = parser["init_state"]
        self._takes_packet_outs = "packet_out" in self._fields

    def chunk(self, count: int, first_number: int) -> list[Frame]:
        """Frames into one port, so that their order means the same to any switch; each ends with a number."""
        from_cpu = self._takes_packet_outs and self._rng.random() < 0.02
        port = CPU_PORT if from_cpu else self._rng.choice(self._ports)
        return [(port, self._frame(port, first_number + i)) for i in range(count if not from_cpu else 40)]

    def keep(self, frame: Frame) -> None:
        """A frame that was forwarded, so that others are made from it; the last 256 are kept."""
        port, data = frame
        kept = self._kept[port]
        if len(kept) < _KEPT:
            kept.append(data[:-4])
        else:
            kept[self._rng.randrange(_KEPT)] = data[:-4]

    def _frame(self, port: int, number: int) -> bytes:
        rng, kept = self._rng, self._kept[port]
        if kept and rng.random() < 0.4:
            return self._changed(rng.choice(kept)) + number.to_bytes(4)
        walk = _Walk(self._fields, self._stacks, rng, self._pool)
        state: str | None = self._first
        for _ in range(_MOST_STATES):
            if state is None:
                break
            state = walk.through(self._states[state], port)
        frame, kind = walk.bytes(), rng.random()
        if kind < 0.05:
            return frame[: rng.randrange(len(frame) + 1)]
        if kind < 0.10:
            frame = self._changed(frame)
        payload = rng.randbytes(rng.choice((0, 0, 1, 7, 40, rng.randrange(100), rng.randrange(1_400))))
        return (frame + payload)[:_LONGEST] + number.to_bytes(4)

    def _changed(self, frame: bytes) -> bytes:
        """A few bits or bytes of the beginning are others."""
        if not frame:
            return frame
        rng, changed = self._rng, bytearray(frame)
        for _ in range(rng.randrange(4)):
            at = rng.randrange(min(len(frame), 80))
            changed[at] = changed[at] ^ 1 << rng.randrange(8) if rng.random() < 0.5 else self._pool.value(8)
        return bytes(changed)


class _Walk:
    """One frame in the making, bit by bit."""

    def __init__(
        self,
        fields: dict[str, list[tuple[str, Any]]],
        stacks: dict[str, list[str]],
        rng: random.Random,
        pool: Pool,
    ) -> None:
        self._fields, self._stacks, self._rng, self._pool = fields, stacks, rng, pool
        self._value = self._bits = 0
        self._places: dict[tuple[str, str], tuple[int, int]] = {}  # first bit and width of each field
        self._used: dict[str, int] = defaultdict(int)  # headers of a stack that are filled
        self._wishes: list[tuple[int, int, int]] = []  # what a lookahead should see: first bit, width, value

    def through(self, state: dict[str, Any], port: int) -> str | None:
        """Append what a state extracts; the next state, None at the end."""
        for operation in state["parser_ops"]:
            parameters = operation["parameters"]
            if operation["op"] in ("extract", "extract_VL"):
                self._extract(parameters[0])
            elif operation["op"] == "advance" and parameters[0]["type"] == "hexstr":
                self._append(self._rng.getrandbits(8), int(parameters[0]["value"], 16))
        transitions = state["transitions"]
        if not transitions:
            return None
        named = [transition for transition in transitions if transition["type"] != "default"]
        chosen = self._rng.choice(named if named and self._rng.random() < 0.8 else transitions)
        keys = state["transition_key"]
        if [key["value"] for key in keys] == [["standard_metadata", "ingress_port"]]:
            # Which one it is, is decided already.
            return next(
                (
                    transition["next_state"]
                    for transition in transitions
                    if transition["type"] == "default"
                    or (transition["type"] == "hexstr" and int(transition["value"], 16) == port)
                ),
                None,
            )
        if chosen["type"] == "hexstr":
            self._wish(keys, int(chosen["value"], 16), chosen["mask"])
        return chosen["next_state"]

    def bytes(self) -> bytes:
        length = -(-self._bits // 8)
        value = self._value << (8 * length - self._bits)
        for first, width, wish in self._wishes:
            shift = 8 * length - first - width
            if shift >= 0:
                value = value & ~(((1 << width) - 1) << shift) | wish << shift
        return value.to_bytes(length)

    def _append(self, value: int, bits: int) -> None:
        self._value = self._value << bits | value & ((1 << bits) - 1)
        self._bits += bits

    def _extract(self, what: dict[str, Any]) -> None:
        name: str = what["value"] if isinstance(what["value"], str) else what["value"][0]
        if what["type"] == "stack":
            index = min(self._used[name], len(self._stacks[name]) - 1)
            self._used[name] += 1
            self._fill(self._stacks[name][index], name)
        elif what["type"] == "regular":
            self._fill(name)

    def _fill(self, header: str, stack: str = "") -> None:
        for field, bits in self._fields[header]:
            width = bits if isinstance(bits, int) else 8 * self._rng.randrange(12)
            for owner in (header, stack):
                self._places[owner, field] = self._bits, width
            self._append(self._pool.value(width), width)

    def _wish(self, keys: list[dict[str, Any]], value: int, mask: str | None) -> None:
        """Make the fields that a transition looks at have the value it wants."""
        wanted = value if mask is None else value & int(mask, 16)
        widths = [self._place(key) for key in keys]
        # A key's fields stand one behind the other, each in whole bytes.
        for place in reversed(widths):
            if place is None:
                return
            first, width = place
            self._wishes.append((first, width, wanted & ((1 << width) - 1)))
            wanted >>= -(-width // 8) * 8

    def _place(self, key: dict[str, Any]) -> tuple[int, int] | None:
        if key["type"] == "lookahead":
            offset, width = key["value"]
            return self._bits + offset, width
        if key["type"] in ("field", "stack_field"):
            return self._places.get((key["value"][0], key["value"][1]))
        return None
