# SPDX-License-Identifier: Apache-2.0
"""Random v1model programs whose behaviour the language and the architecture define.

Header fields are read where the header is valid, variables once they have a value. What two threads of BMv2
may do in either order is left out: registers together with further passes of a frame, queue metadata, time.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import final

from tests.differential.effects.pairs import EFFECTS, begin, effect
from tests.differential.shapes.declarations import FIELD_LIST, Data, Header, random_data
from tests.differential.shapes.expressions import WIDTHS, Expressions, Operand, Scope
from tests.differential.shapes.tables import Table, random_actions, random_tables

__all__ = ["random_program"]

_PORT_BITS, _PORTS = 9, 8
_CELLS = 16
_HASHES = ("crc16", "crc32", "csum16", "xor16", "identity")
_MOST_ROUNDS = 2
_EFFECT_BLOCKS, _MOST_EFFECTS = 2, 3


def random_program(seed: int) -> str:
    """Return the text of the program of a seed."""
    return _Program(random.Random(seed)).text()


@final
@dataclass(slots=True)
class _Program:
    rng: random.Random
    data: Data = field(init=False)
    values: Expressions = field(init=False)
    functions: tuple[Operand, ...] = ()
    again: bool = False  # frames pass ingress more than once; otherwise there are registers
    locals: int = 0

    def __post_init__(self) -> None:
        self.data = random_data(self.rng)
        self.again = self.rng.random() < 0.4
        self.functions = tuple(
            Operand(f"mix{bits}", bits) for bits in self.rng.sample(WIDTHS, self.rng.randrange(3))
        )
        self.values = Expressions(self.rng, Scope((), ()))

    def text(self) -> str:
        declared = self.data.declarations()
        functions = "".join(map(self._function, self.functions))
        ingress = self._control("in", "TestIngress", self._ingress_statements())
        egress = self._control("eg", "TestEgress", self._egress_statements())
        return (
            f"#include <core.p4>\n#include <v1model.p4>\n\n{declared}\n{functions}"
            f"parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,"
            f" inout standard_metadata_t std) {{\n{self.data.parser}}}\n\n"
            f"{self._checksum('TestVerify', 'verify_checksum')}{ingress}{egress}"
            f"{self._checksum('TestUpdate', 'update_checksum')}"
            "control TestDeparser(packet_out packet, in headers_t hdr) {\n    apply {\n"
            f"{self._emits()}    }}\n}}\n\n"
            "V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser())"
            " main;\n"
        )

    # -- declarations

    def _function(self, function: Operand) -> str:
        kind = f"bit<{function.bits}>"
        parts = Scope((Operand("a", function.bits), Operand("b", function.bits)), ())
        with self.values.within(parts):
            early, late = self.values.value(function.bits), self.values.value(function.bits)
            body = f"    if ({self.values.truth()}) {{\n        return {early};\n    }}\n    return {late};\n"
        return f"{kind} {function.text}(in {kind} a, in {kind} b) {{\n{body}}}\n\n"

    def _emits(self) -> str:
        names = [header.name for header in self.data.headers]
        if self.data.stack:
            names.insert(self.rng.randrange(1, len(names) + 1), "stack")
        return "".join(f"        packet.emit(hdr.{name});\n" for name in names)

    def _checksum(self, control: str, extern: str) -> str:
        """Return a control with a checksum over a header, if one has a field for it."""
        body = ""
        for header in self.data.headers:
            at = next((place for place in header.places() if place.bits == 16), None)
            others = [place.text for place in header.places() if place != at]
            bits = sum(place.bits for place in header.places()) - 16
            if at and others and bits % 8 == 0 and self.rng.random() < 0.5:
                data = f"{{ {', '.join(others)} }}"
                condition = f"hdr.{header.name}.isValid()"
                body += f"        {extern}({condition}, {data}, {at.text}, HashAlgorithm.csum16);\n"
        parameters = "inout headers_t hdr, inout meta_t meta"
        return f"control {control}({parameters}) {{\n    apply {{\n{body}    }}\n}}\n\n"

    def _control(self, prefix: str, name: str, special: tuple[Callable[[], str], ...]) -> str:
        first = self.data.first.places()
        seen = (
            Operand("std.ingress_port", _PORT_BITS),
            Operand("std.packet_length", 32),
            Operand("std.instance_type", 32),
        )
        scope = Scope(
            (*first, *self.data.metadata, *seen),
            (*first, *self.data.metadata),
            headers=self.data.names,
            functions=self.functions,
        )
        locals_, scope = self._locals(scope)
        control = "ingress" if prefix == "in" else "egress"
        with self.values.within(scope):
            actions = random_actions(self.rng, prefix, scope, self._simple)
            tables = random_tables(self.rng, prefix, scope, actions, self.values)
            arrays = f"    counter({_CELLS}, CounterType.packets_and_bytes) {prefix}_c;\n"
            if not self.again:
                arrays += "".join(
                    f"    register<bit<{bits}>>({_CELLS}) {prefix}_r{bits};\n" for bits in (8, 33, 96)
                )
            waiting = list(tables)
            body = self._block(scope, waiting, special, 3, self.rng.randrange(3, 9), prefix)
            body += "".join(self._apply(table, prefix, scope) for table in waiting)
            body += "".join(self._effects(control) for _ in range(_EFFECT_BLOCKS))
            last = special[0]()
        declared = "".join(action.declaration() for action in actions)
        declared += "".join(table.declaration for table in tables)
        return (
            f"control {name}(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{\n"
            f"{arrays}{locals_}{declared}    apply {{\n{begin(control)}"
            f"        if (hdr.{self.data.first.name}.isValid()) {{\n"
            f"{body}{last}        }}\n    }}\n}}\n\n"
        )

    def _locals(self, scope: Scope) -> tuple[str, Scope]:
        """Return declarations of variables of the control, and the scope with them."""
        text, places = "", []
        for _ in range(self.rng.randrange(4)):
            place = Operand(f"v{self.locals}", self.rng.choice(WIDTHS))
            self.locals += 1
            text += f"    bit<{place.bits}> {place.text} = {self.values.literal(place.bits)};\n"
            places.append(place)
        flag = f"b{self.locals}"
        self.locals += 1
        text += f"    bool {flag} = {self.rng.choice(('true', 'false'))};\n"
        return text, replace(scope.and_also(places), flags=(flag,))

    # -- statements

    def _simple(self, scope: Scope, count: int) -> str:
        """Return statements that an action may have."""
        with self.values.within(scope):
            return "".join(
                self.rng.choice((self._assign, self._assign, self._assign, self._if_assign))()
                for _ in range(count)
            )

    def _block(
        self,
        scope: Scope,
        tables: list[Table],
        special: tuple[Callable[[], str], ...],
        depth: int,
        count: int,
        prefix: str,
    ) -> str:
        """Return statements; a table that is applied is taken out of `tables`."""
        text = ""
        with self.values.within(scope):
            for _ in range(count):
                kind = self.rng.random()
                if tables and kind < 0.2:
                    text += self._apply(tables.pop(0), prefix, scope)
                elif kind < 0.3:
                    text += self.rng.choice(special)()
                elif kind < 0.55 and depth > 0:
                    text += self._nested(scope, tables, special, depth - 1, prefix)
                elif kind < 0.7:
                    text += self._header_operation()
                else:
                    text += self._assign()
        return text

    def _nested(
        self,
        scope: Scope,
        tables: list[Table],
        special: tuple[Callable[[], str], ...],
        depth: int,
        prefix: str,
    ) -> str:
        rng, few = self.rng, self.rng.randrange(1, 4)

        def block(inside: Scope = scope) -> str:
            return self._block(inside, tables, special, depth, few, prefix)

        kind = rng.random()
        if kind < 0.35 and len(self.data.headers) > 1:
            header = rng.choice(self.data.headers[1:])
            return f"if (hdr.{header.name}.isValid()) {{\n{block(scope.and_also(header.places()))}}}\n"
        if kind < 0.5 and self.data.stack:
            element = rng.choice(self.data.elements)
            inside = scope.and_also(self.data.stack.places(element))
            return f"if ({element}.isValid()) {{\n{block(inside)}}}\n"
        if kind < 0.65:
            cases = "".join(f"{value}: {{\n{block()}}}\n" for value in rng.sample(range(8), 2))
            cases += f"default: {{\n{block()}}}\n"
            return f"switch ((bit<3>){rng.choice(scope.readable).text}) {{\n{cases}}}\n"
        if kind < 0.75:
            index = f"i{self.locals}"
            self.locals += 1
            inside = scope.and_also([Operand(index, 8)], writable=False)
            with self.values.within(inside):
                body = "".join(self._assign() for _ in range(few))
            rounds = f"bit<8> {index} = 0; {index} < {rng.randrange(1, 6)}; {index} = {index} + 1"
            return f"for ({rounds}) {{\n{body}}}\n"
        otherwise = f" else {{\n{block()}}}" if rng.random() < 0.5 else ""
        return f"if ({self.values.truth()}) {{\n{block()}}}{otherwise}\n"

    def _apply(self, table: Table, prefix: str, scope: Scope) -> str:
        kind = self.rng.random()
        count = f"{prefix}_c.count({self._index()});\n"
        if kind < 0.2:
            return f"if ({table.name}.apply().{self.rng.choice(('hit', 'miss'))}) {{\n{count}}}\n"
        if kind < 0.35:
            cases = f"{table.actions[0]}: {{\n{count}}}\ndefault: {{\n{self._assign()}}}\n"
            return f"switch ({table.name}.apply().action_run) {{\n{cases}}}\n"
        return f"{table.name}.apply();\n"

    def _assign(self) -> str:
        rng, scope = self.rng, self.values.scope
        if scope.flags and rng.random() < 0.1:
            return f"{rng.choice(scope.flags)} = {self.values.truth()};\n"
        place = rng.choice(scope.writable)
        if place.bits > 1 and rng.random() < 0.15:
            low = rng.randrange(place.bits)
            high = rng.randrange(low, place.bits)
            return f"{place.text}[{high}:{low}] = {self.values.value(high - low + 1)};\n"
        return f"{place.text} = {self.values.value(place.bits)};\n"

    def _if_assign(self) -> str:
        return f"if ({self.values.truth()}) {{\n{self._assign()}}}\n"

    def _header_operation(self) -> str:
        """Make a header other than the first valid, with values, or invalid, or shift the stack."""
        rng, kind = self.rng, self.rng.random()
        others = self.data.headers[1:]
        if self.data.stack and kind < 0.3:
            return f"hdr.stack.{rng.choice(('push_front', 'pop_front'))}({rng.randrange(1, 3)});\n"
        if self.data.stack and kind < 0.45:
            return self._made_valid(self.data.stack, rng.choice(self.data.elements))
        if not others:
            return self._assign()
        header = rng.choice(others)
        if kind < 0.7:
            return self._made_valid(header, f"hdr.{header.name}")
        return f"hdr.{header.name}.setInvalid();\n"

    def _made_valid(self, header: Header, instance: str) -> str:
        values = "".join(
            f"{place.text} = {self.values.value(place.bits, 1)};\n" for place in header.places(instance)
        )
        return f"{instance}.setValid();\n{values}"

    def _index(self) -> str:
        return f"(bit<32>)(bit<4>)({self.values.value(4, 1)})"

    # -- what only one of the pipelines has; the first of each is also its last statement

    def _ingress_statements(self) -> tuple[Callable[[], str], ...]:
        common = (self._forward, self._count, self._hash, self._truncate, self._log)
        rare = (self._drop, self._multicast, self._clone_ingress, self._digest, self._leave)
        return (*common, *rare, self._resubmit if self.again else self._register_in)

    def _egress_statements(self) -> tuple[Callable[[], str], ...]:
        return (
            *(self._log, self._hash, self._truncate, self._drop_egress, self._clone_egress, self._leave),
            self._recirculate if self.again else self._log,
        )

    def _forward(self) -> str:
        return f"std.egress_spec = (bit<9>)(bit<3>)({self.values.value(3, 1)});\n"

    def _count(self) -> str:
        return f"in_c.count({self._index()});\n"

    def _hash(self) -> str:
        place = self.rng.choice(self.values.scope.writable)
        if place.bits < 8 or place.bits > 64:
            return self._assign()
        data = ", ".join(
            part.text
            for part in self.rng.sample(self.values.scope.readable, min(3, len(self.values.scope.readable)))
        )
        most = self.rng.choice((1, 7, 200, (1 << place.bits) - 1)) & ((1 << place.bits) - 1)
        algorithm = f"HashAlgorithm.{self.rng.choice(_HASHES)}"
        base = self.rng.choice((0, 0, 3))
        limits = f"{place.bits}w{base}, {{ {data} }}, {place.bits}w{max(1, most)}"
        return f"hash({place.text}, {algorithm}, {limits});\n"

    def _truncate(self) -> str:
        return self._assign() if self.rng.random() < 0.7 else self._effect_truncate()

    def _log(self) -> str:
        return f'log_msg("value {{}}", {{ {self.values.value(16)} }});\n'

    def _drop(self) -> str:
        return self._rarely(self._effect_drop())

    _drop_egress = _drop

    def _leave(self) -> str:
        return self._rarely(self.rng.choice(("exit;\n", "return;\n")))

    def _rarely(self, statement: str, bits: int = 3) -> str:
        place = self.rng.choice(self.values.scope.readable)
        return f"if ((bit<{bits}>){place.text} == {self.rng.randrange(1 << bits)}) {{\n{statement}}}\n"

    def _multicast(self) -> str:
        return self._rarely(self._effect_multicast())

    def _clone_ingress(self) -> str:
        return self._rarely(self._effect_clone("I2E"))

    def _clone_egress(self) -> str:
        return self._effect_clone("E2E")

    def _digest(self) -> str:
        return self._rarely(self._effect_digest())

    def _resubmit(self) -> str:
        return self._rarely(self._effect_again("resubmit"))

    def _recirculate(self) -> str:
        return self._rarely(self._effect_again("recirculate"))

    # -- effects on the whole frame

    def _effects(self, control: str) -> str:
        """Return effects on one frame, one after the other, where each may spoil another one."""
        again = {"resubmit", "recirculate"}
        names = [name for name in EFFECTS[control] if self.again or name not in again]
        makers: dict[str, Callable[[], str]] = {
            "truncate": self._effect_truncate,
            "clone": lambda: self._effect_clone("I2E" if control == "ingress" else "E2E"),
            "resubmit": lambda: self._effect_again("resubmit"),
            "recirculate": lambda: self._effect_again("recirculate"),
            "multicast": self._effect_multicast,
            "digest": self._effect_digest,
            "drop": self._effect_drop,
        }
        chosen = self.rng.choices(names, k=self.rng.randrange(2, _MOST_EFFECTS + 1))
        return self._rarely("".join(makers[name]() for name in chosen), bits=2)

    def _effect_truncate(self) -> str:
        return f"{effect('truncate')}truncate({self.rng.randrange(20, 200)});\n"

    def _effect_drop(self) -> str:
        return f"{effect('drop')}mark_to_drop(std);\n"

    def _effect_multicast(self) -> str:
        return f"{effect('multicast')}std.mcast_grp = {self.rng.randrange(9)};\n"

    def _effect_digest(self) -> str:
        return f"{effect('digest')}digest<bit<16>>(1, {self.values.value(16)});\n"

    def _effect_clone(self, kind: str) -> str:
        """Clone a frame in its first pass; in egress, a frame that is no clone itself."""
        session = self.rng.randrange(1, 9)
        call = f"clone(CloneType.{kind}, {session});\n"
        if self.rng.random() < 0.5:
            call = f"clone_preserving_field_list(CloneType.{kind}, {session}, {FIELD_LIST});\n"
        return f"if (std.instance_type == 0) {{\n{effect('clone')}{call}}}\n"

    def _effect_again(self, name: str) -> str:
        """Resubmit or recirculate a frame that is no clone: a recirculated clone would be cloned again."""
        return (
            f"if (meta.rounds < {_MOST_ROUNDS} && std.instance_type != 1 && std.instance_type != 2) {{\n"
            "meta.rounds = meta.rounds + 1;\n"
            f"{effect(name)}{name}_preserving_field_list({FIELD_LIST});\n}}\n"
        )

    def _register_in(self) -> str:
        bits = self.rng.choice((8, 33, 96))
        index, variable = self._index(), f"r{self.locals}"
        self.locals += 1
        place = self.rng.choice(self.values.scope.writable)
        return (
            f"{{\nbit<{bits}> {variable};\nin_r{bits}.read({variable}, {index});\n"
            f"in_r{bits}.write({index}, {variable} + {self.values.value(bits, 1)});\n"
            f"{place.text} = (bit<{place.bits}>){variable};\n}}\n"
        )
