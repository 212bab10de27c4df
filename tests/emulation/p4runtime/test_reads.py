# SPDX-License-Identifier: Apache-2.0
"""Reads: filters, wildcards, several responses, and requests that fail beside others that do not."""

from finsy.proto import p4r

from tests.emulation import sampler
from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.messages import action, all_of, entry, exact, mixed, optional, refusals


def test_filters(ready: Controller) -> None:
    first = mixed(1, optional(b"\x01"))
    second = mixed(2, optional(b"\x01"), do=action("refuse"))
    third = entry("exact_table", exact(1, b"\x01"), metadata=b"x")
    ready.write(("INSERT", first), ("INSERT", second), ("INSERT", third))
    (constant,) = ready.read(all_of("const_table"))
    assert constant.table_entry.is_const

    def read(*wanted: p4r.Entity) -> list[str]:
        return sorted(str(entity) for entity in ready.read(*wanted))

    def texts(*entities: p4r.Entity) -> list[str]:
        return sorted(map(str, entities))

    assert read(all_of()) == texts(first, second, third, constant)
    assert read(all_of("mixed_table")) == texts(first, second)
    assert read(all_of("mixed_table", priority=2)) == texts(second)
    assert read(all_of("mixed_table", action=action("forward"))) == texts(first)
    assert read(all_of("mixed_table", match=[optional(b"\x01")])) == texts(first, second)
    assert read(all_of("mixed_table", match=[optional(b"\x01")], priority=1)) == texts(first)
    assert read(all_of("exact_table", metadata=b"x")) == texts(third)
    assert read(all_of("exact_table", metadata=b"y")) == []
    assert read(all_of("exact_table", match=[exact(1, b"\x02")])) == []
    assert read(all_of("mixed_table"), all_of("exact_table")) == texts(first, second, third)


def test_good_requests_are_answered_beside_bad_ones(ready: Controller) -> None:
    written = entry("exact_table", exact(1, b"\x01"))
    ready.write(("INSERT", written))
    unknown = p4r.Entity(table_entry=p4r.TableEntry(table_id=12345))
    received = []

    def read() -> None:
        for entities in ready.responses(all_of("exact_table"), unknown, p4r.Entity(), all_of(priority=3)):
            received.extend(entities)

    assert refusals(read) == ["OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "INVALID_ARGUMENT"]
    assert received == [written]


def test_many_entries_come_in_several_responses(client: Controller) -> None:
    bmv2, info = sampler.program()
    bmv2["pipelines"][0]["tables"][0]["max_size"] = 5000
    client.push((sampler.packed(bmv2, info)[0], info))
    client.write(*(("INSERT", entry("exact_table", exact(1, n.to_bytes(2)))) for n in range(256, 256 + 2500)))
    sizes = [len(entities) for entities in client.responses(all_of("exact_table"))]
    assert sum(sizes) == 2500
    assert len(sizes) > 1
