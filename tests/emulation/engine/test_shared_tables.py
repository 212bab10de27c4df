# SPDX-License-Identifier: Apache-2.0
"""Tables with shared content: a run packs and shares contents, and a write to a switch changes no other."""

import random
from pathlib import Path

from emulation._engine import Network, Program

SOURCE = (Path(__file__).parents[2] / "programs" / "build" / "every_match.json").read_bytes()
SWITCHES, VALUES = 3, 64


def probe(small: int) -> bytes:
    return bytes([0, small]).ljust(29, b"\0")


class Tables:
    """The table exact_small of several switches, and the entries that each must have."""

    def __init__(self) -> None:
        program = Program(SOURCE)
        self.net = Network()
        for number in range(SWITCHES):
            self.net.add_switch(f"s{number}")
            self.net.set_program(number, program)
        (table,) = [table for table in program.tables if table["name"].endswith("exact_small")]
        (self.action,) = [
            action["handle"]
            for action in program.actions
            if action["handle"] in table["actions"] and action["name"].endswith("answer_counted")
        ]
        self.table = table["handle"]
        self.held: list[dict[int, int]] = [{} for _ in range(SWITCHES)]
        self.hits: list[dict[int, int]] = [{} for _ in range(SWITCHES)]

    def write(self, switch: int, small: int, value: int | None) -> None:
        """Insert, modify or, without a value, delete an entry."""
        held, key = self.held[switch], [(bytes([small]), b"", 0)]
        if value is None:
            assert self.net.table_delete(switch, self.table, key, 0) == 0
            del held[small], self.hits[switch][small]
            return
        write = self.net.table_modify if small in held else self.net.table_insert
        assert write(switch, self.table, key, 0, self.action, [value.to_bytes(3, "big")]) == 0
        held[small] = value
        self.hits[switch].setdefault(small, 0)

    def check(self) -> None:
        for switch, held in enumerate(self.held):
            for small in range(VALUES):
                out = self.net.process(switch, 7, probe(small))
                assert [frame[26:29] for _, frame in out] == [
                    held[value].to_bytes(3, "big") for value in [small] if value in held
                ]
            for small in held:
                self.hits[switch][small] += 1
            packets = {
                int.from_bytes(match[0][0]): packets
                for match, *_, packets, _ in self.net.table_read(switch, self.table)
            }
            assert packets == self.hits[switch]


def test_equal_tables_of_several_switches_answer_alike_and_change_alone() -> None:
    tables = Tables()
    for small in (0, 5, 6):
        for switch in range(SWITCHES):
            tables.write(switch, small, 100 + small)
    tables.net.run()
    tables.check()
    tables.write(1, 5, 7)
    tables.check()  # before the next run packs the new content
    tables.net.run()
    tables.check()
    tables.write(1, 5, 105)
    tables.net.run()
    tables.check()


def test_packed_tables_against_a_plain_model_under_random_writes() -> None:
    tables, chance = Tables(), random.Random(3)
    for _ in range(300):
        switch, small = chance.randrange(SWITCHES), chance.randrange(VALUES)
        held = tables.held[switch]
        if held and chance.random() < 0.3:
            tables.write(switch, chance.choice(sorted(held)), None)
        elif small in held or len(held) < 4:
            tables.write(switch, small, chance.randrange(1, 1 << 24))
        if chance.random() < 0.5:
            tables.net.run()
        tables.check()
