# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime client against the built-in server: round trips, batches, errors that name what failed."""

import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from controller import Entry, Exact, InstallError, Lpm, Match, Optional, Range, Ternary, Update
from controller.garbage import earlier_objects_left_out
from controller.p4runtime import update_cache
from controller.p4runtime.client import P4RuntimeClient, PacketIn, ProgramFiles
from controller.p4runtime.entry_encoding import describe
from controller.plan.rows import MatchColumn, NodeEntries, Rows
from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from tests.emulation import sampler
from tests.emulation.controller_stub import Controller

DEVICES = {"npu0": 1, "npu1": 2, "npu2": 3}


def sampler_files(exact_size: int = 4) -> ProgramFiles:
    bmv2, info = sampler.program()
    bmv2["pipelines"][0]["tables"][0]["max_size"] = exact_size
    return ProgramFiles(*sampler.packed(bmv2, info))


FILES = sampler_files()


def forward(table: str, port: int, priority: int = 0, **match: Match) -> Entry:
    return Entry(table, tuple(match.items()), "forward", (("port", port),), priority)


EVERY_KIND = (
    forward("exact_table", 1, a=Exact(0)),
    forward("exact_table", 511, a=Exact(0xFFFF)),
    forward("lpm_table", 2, e=Lpm(0x0A000000, 8)),
    Entry("lpm_table", (), "refuse"),
    forward("mixed_table", 4, 1, b=Ternary(0x1200, 0xFF00), c=Range(2, 256), d=Optional(0)),
    forward("mixed_table", 5, 2, c=Range(0, 0)),
    forward("mixed_table", 6, 3),
)


@dataclass
class Bench:
    network: Network
    server: P4RuntimeServer
    address: str


SOCKET = "127.0.0.1:0"


@pytest.fixture(params=[SOCKET, None], ids=["socket", "same process"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    network = Network()
    switches = {device_id: network.add_switch(node) for node, device_id in DEVICES.items()}
    server = P4RuntimeServer(network, switches, request.param, lock=threading.RLock())
    yield Bench(network, server, server.start())
    server.stop()


@pytest.fixture
def client(bench: Bench) -> Iterator[P4RuntimeClient]:
    """Primary of all three nodes, which run the sampler."""
    with P4RuntimeClient(bench.address, timeout=120) as client:
        client.connect(DEVICES)
        client.push_pipeline(dict.fromkeys(DEVICES, FILES))
        yield client


def by_text(entries: object) -> list[str]:
    return sorted(map(str, entries))  # pyright: ignore[reportArgumentType]


def test_entries_of_every_match_kind_come_back_as_installed(client: P4RuntimeClient) -> None:
    assert client.install({"npu1": EVERY_KIND}) == len(EVERY_KIND)
    read = client.read("npu1")
    assert by_text(entry for entry in read if entry.table != "const_table") == by_text(EVERY_KIND)
    assert by_text(client.read("npu1", "lpm_table")) == by_text(EVERY_KIND[2:4])
    assert client.read("npu0", "lpm_table") == []


def test_a_group_comes_back_with_its_members_in_order(bench: Bench) -> None:
    build = Path(__file__).parents[3] / "p4" / "build"
    files = ProgramFiles(*((build / f"rail_switch.{end}").read_bytes() for end in ("json", "p4info.txtpb")))
    group = Entry(
        "multipath",
        (("group", Exact(7)),),
        "set_egress_port",
        members=tuple((("port", port),) for port in (5, 2, 9, 2)),
    )
    with P4RuntimeClient(bench.address) as client:
        client.connect({"npu0": 1})
        client.push_pipeline({"npu0": files})
        client.install({"npu0": [group]})
        assert client.read("npu0") == [group]
        changed = replace(group, members=group.members[1:3])
        client.write("npu0", [Update("modify", changed)])
        assert client.read("npu0", "multipath") == [changed]
        wrong = replace(group, match=(("group", Exact(8)),), members=((("port", 1 << 9),),))
        with pytest.raises(InstallError, match=r"npu0: port = 0x200 does not fit in 9 bits"):
            client.install({"npu0": [wrong]})
    assert describe(changed) == "group=0x7 -> set_egress_port(port=0x2) | set_egress_port(port=0x9)"


def test_large_installs_go_in_batches_and_report_progress(
    client: P4RuntimeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_cache, "_BATCH", 1000)
    client.push_pipeline(dict.fromkeys(("npu0", "npu1"), sampler_files(exact_size=4000)))
    entries = {
        node: [forward("exact_table", port, a=Exact(n)) for n in range(count)]
        for node, count, port in [("npu0", 2500, 1), ("npu1", 10, 2), ("npu2", 0, 3)]
    }
    reports: list[tuple[int, int]] = []
    threads: set[str] = set()

    def progress(done: int, total: int) -> None:
        reports.append((done, total))
        threads.add(threading.current_thread().name)

    assert client.install(entries, progress) == 2510
    assert reports[-1] == (2510, 2510)
    assert reports == sorted(reports)
    assert len(reports) == 4  # three batches of npu0, one of npu1
    assert threads == {threading.current_thread().name}
    assert by_text(client.read("npu0", "exact_table")) == by_text(entries["npu0"])


def test_rows_of_columns_are_installed_as_entries(
    client: P4RuntimeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_cache, "_BATCH", 1000)
    client.push_pipeline(dict.fromkeys(("npu0", "npu1"), sampler_files(exact_size=4000)))
    keys = MatchColumn("a", Exact, np.arange(2500))
    rows = Rows("exact_table", "forward", [keys], [("port", np.arange(2500) % 512)])
    shared = (forward("lpm_table", 2, e=Lpm(0x0A000000, 8)),)
    entries = {"npu0": NodeEntries([shared, rows]), "npu1": NodeEntries([rows[:10], shared])}
    cache = update_cache.UpdateCache()
    assert client.install(entries, cache=cache) == 2512
    for node, own in entries.items():
        read = client.read(node, "exact_table") + client.read(node, "lpm_table")
        assert by_text(read) == by_text(own)
    client.push_pipeline(dict.fromkeys(("npu0", "npu1"), sampler_files(exact_size=4000)))
    assert client.install(entries, cache=cache) == 2512
    assert by_text(client.read("npu0", "exact_table")) == by_text(rows)


def test_write_inserts_modifies_and_deletes(client: P4RuntimeClient, bench: Bench) -> None:
    frame = (1 << 64).to_bytes(10)
    old, new = forward("exact_table", 1, a=Exact(1)), forward("exact_table", 2, a=Exact(1))
    client.write("npu0", [Update("insert", old)])
    assert bench.network.process(0, 0, frame) == [(1, frame)]
    client.write("npu0", [Update("modify", new), Update("insert", forward("lpm_table", 3, e=Lpm(1, 32)))])
    assert bench.network.process(0, 0, frame) == [(2, frame)]
    client.write("npu0", [Update("delete", new)])
    assert bench.network.process(0, 0, frame) == []
    client.write("npu0", [])


def test_writes_of_several_nodes_come_in_order_on_each(client: P4RuntimeClient) -> None:
    old, new = forward("exact_table", 1, a=Exact(1)), forward("exact_table", 2, a=Exact(1))
    changed = [Update("insert", old), Update("modify", new)]
    client.write_all({"npu0": changed, "npu1": changed[:1], "npu2": []})
    assert [client.read(node, "exact_table") for node in DEVICES] == [[new], [old], []]
    with pytest.raises(InstallError, match=r"npu1: table exact_table: insert of .*ALREADY_EXISTS"):
        client.write_all({"npu1": changed[:1]})


def test_full_names_serve_as_well_as_aliases(client: P4RuntimeClient) -> None:
    entry = Entry("Ingress.exact_table", (("a", Exact(1)),), "Ingress.forward", (("port", 1),))
    client.install({"npu0": [entry]})
    assert client.read("npu0", "Ingress.exact_table") == [forward("exact_table", 1, a=Exact(1))]


def test_counters(client: P4RuntimeClient, bench: Bench) -> None:
    bench.network.process(0, 0, bytes(10))
    bench.network.process(0, 0, bytes(25))
    counts = client.read_counter("npu0", "ports")
    assert counts == dict.fromkeys(range(8), (0, 0)) | {1: (2, 35)}
    assert client.read_counters(["npu0"], "ports") == {"npu0": counts}
    with pytest.raises(InstallError, match=r"npu0: counter port is not in the p4info; did you mean .*ports"):
        client.read_counter("npu0", "port")


def test_pipeline_that_someone_else_pushed(client: P4RuntimeClient, bench: Bench) -> None:
    client.install({"npu0": EVERY_KIND[:1]})
    with P4RuntimeClient(bench.address) as second:
        second.connect({"npu0": 1}, election_id=2)
        assert second.read("npu0", "exact_table") == [EVERY_KIND[0]]


class TestErrors:
    def test_refused_entry_is_named_with_what_the_server_said(self, client: P4RuntimeClient) -> None:
        entries = [forward("exact_table", n, a=Exact(n)) for n in range(6)]
        with pytest.raises(InstallError) as caught:
            client.install({"npu0": EVERY_KIND[:1], "npu2": entries})
        message = str(caught.value)
        assert message.startswith("npu2: table exact_table: insert of a=0x4 -> forward(port=0x4): ")
        assert "RESOURCE_EXHAUSTED; 2 of 6 updates were refused" in message
        assert "raise the size of the table" in caught.value.remedy

    def test_a_refused_row_is_named_as_an_entry(self, client: P4RuntimeClient) -> None:
        numbers = np.arange(6)
        rows = Rows("exact_table", "forward", [MatchColumn("a", Exact, numbers)], [("port", numbers)])
        with pytest.raises(
            InstallError, match=r"^npu2: .* insert of a=0x4 -> forward\(port=0x4\): .*2 of 7 "
        ):
            client.install({"npu2": NodeEntries([EVERY_KIND[2:3], rows])})

    def test_a_row_that_does_not_fit_names_its_node(self, client: P4RuntimeClient) -> None:
        rows = Rows("exact_table", "forward", [MatchColumn("a", Exact, np.arange(3))], [("port", 1)])
        wide = Rows("exact_table", "forward", [MatchColumn("a", Exact, np.arange(3) << 15)], [("port", 1)])
        with pytest.raises(InstallError, match=r"^npu1: a = 0x10000 does not fit in 16 bits"):
            client.install({"npu0": NodeEntries([rows]), "npu1": NodeEntries([rows[:1], wide])})
        assert client.read("npu1", "exact_table") == []

    @pytest.mark.parametrize(
        ("kind", "entry", "said"),
        [
            ("insert", forward("exact_table", 1, a=Exact(1)), "ALREADY_EXISTS"),
            ("modify", forward("exact_table", 1, a=Exact(2)), "NOT_FOUND"),
            ("delete", forward("exact_table", 1, a=Exact(2)), "NOT_FOUND"),
            ("insert", forward("const_table", 1, a=Exact(2)), "PERMISSION_DENIED"),
            ("insert", forward("mixed_table", 1, 0, d=Optional(1)), "INVALID_ARGUMENT"),
        ],
    )
    def test_refused_update(self, client: P4RuntimeClient, kind: str, entry: Entry, said: str) -> None:
        client.install({"npu0": [forward("exact_table", 1, a=Exact(1))]})
        with pytest.raises(InstallError, match=rf"^npu0: table {entry.table}: {kind} of .*{said}"):
            client.write("npu0", [Update(kind, entry)])  # pyright: ignore[reportArgumentType]

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            (
                forward("exact_tabel", 1, a=Exact(1)),
                "table exact_tabel is not in the p4info; did you mean exact_table",
            ),
            (
                forward("exact_table", 1, z=Exact(1)),
                "table exact_table: match field z is not in the p4info; known: a",
            ),
            (
                forward("exact_table", 1, a=Lpm(1, 16)),
                "table exact_table: match field a expects Exact, got Lpm",
            ),
            (forward("exact_table", 1, a=Exact(65536)), "a = 0x10000 does not fit in 16 bits"),
            (forward("exact_table", 1, a=Exact(-1)), "a = -0x1 does not fit in 16 bits"),
            (forward("exact_table", 512, a=Exact(1)), "port = 0x200 does not fit in 9 bits"),
            (Entry("exact_table", (("a", Exact(1)),), "fly"), "action fly is not in the p4info"),
            (Entry("exact_table", (("a", Exact(1)),), "forward"), "action forward takes 1 parameters, not 0"),
            (
                Entry("exact_table", (("a", Exact(1)),), "forward", (("door", 1),)),
                "action forward: parameter door is not in the p4info; .*port",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_entry_that_does_not_fit_the_program_is_not_sent(
        self, client: P4RuntimeClient, entry: Entry, message: str
    ) -> None:
        with pytest.raises(InstallError, match=f"^npu0: .*{message}"):
            client.install({"npu0": [EVERY_KIND[0], entry]})
        assert client.read("npu0", "exact_table") == []

    def test_unreachable_server(self, tmp_path: Path) -> None:
        address = f"unix:{tmp_path / 'nobody'}"
        with (
            P4RuntimeClient(address) as client,
            pytest.raises(
                InstallError, match=f"npu0: .*no P4Runtime server answers at {address}; check that"
            ),
        ):
            client.connect({"npu0": 1})

    def test_unknown_device(self, bench: Bench) -> None:
        with (
            P4RuntimeClient(bench.address) as client,
            pytest.raises(InstallError, match=r"npu9: .*no device with id 10 \(NOT_FOUND\)"),
        ):
            client.connect({"npu0": 1, "npu9": 10})

    def test_the_first_error_ends_what_has_not_begun(self, bench: Bench) -> None:
        # More devices than are talked to at a time. A coroutine that nobody awaits or closes says so.
        devices = {f"npu{device - 1}": device for device in range(1, 300)}
        with warnings.catch_warnings(record=True) as said, earlier_objects_left_out():
            warnings.simplefilter("always")
            with (
                P4RuntimeClient(bench.address) as client,
                pytest.raises(InstallError, match=r"npu\d+: .*no device with id \d+ \(NOT_FOUND\)"),
            ):
                client.connect(devices)
        assert said == []

    def test_another_controller_is_primary(self, client: P4RuntimeClient, bench: Bench) -> None:
        with (
            P4RuntimeClient(bench.address) as second,
            pytest.raises(InstallError, match=r"npu0: another controller, with election id 1, .*; .*above"),
        ):
            second.connect({"npu0": 1}, election_id=0)
        with P4RuntimeClient(bench.address) as third:
            third.connect({"npu0": 1}, election_id=5)
            with pytest.raises(
                InstallError, match=r"npu0: .*\(PERMISSION_DENIED\); connect with an election id above"
            ):
                client.install({"npu0": EVERY_KIND[:1]})
            with pytest.raises(InstallError, match="with election id 5, controls it"):
                client.barrier("npu0")

    def test_the_own_election_id_is_free_again_after_close(self, bench: Bench) -> None:
        for _ in range(3):
            with P4RuntimeClient(bench.address) as client:
                client.connect(DEVICES, election_id=4)

    def test_pipeline_and_p4info_that_do_not_match(self, client: P4RuntimeClient) -> None:
        bmv2, info = sampler.program()
        info.tables[0].match_fields[0].bitwidth = 15
        with pytest.raises(
            InstallError, match=r"npu1: push of the pipeline failed: table 'Ingress.exact_table'.*15.*16"
        ):
            client.push_pipeline({"npu1": ProgramFiles(*sampler.packed(bmv2, info))})
        client.install({"npu1": EVERY_KIND})

    @pytest.mark.parametrize("text", [b"tables {", b"\xff\xfe", b"no_such_field: 1"])
    def test_p4info_that_is_none(self, client: P4RuntimeClient, text: bytes) -> None:
        with pytest.raises(InstallError, match="the p4info is not a text-format P4Info"):
            client.push_pipeline({"npu1": ProgramFiles(FILES.json, text)})

    def test_no_pipeline(self, bench: Bench) -> None:
        with P4RuntimeClient(bench.address) as client:
            client.connect({"npu0": 1})
            with pytest.raises(InstallError, match="npu0: the switch has no pipeline; push the pipeline"):
                client.read("npu0")

    def test_node_that_is_not_connected(self, client: P4RuntimeClient) -> None:
        with pytest.raises(InstallError, match="npu7 is not connected"):
            client.read("npu7")

    def test_server_that_goes_away(self, client: P4RuntimeClient, bench: Bench) -> None:
        bench.server.stop()
        for call in (
            lambda: client.packet_in("npu0", timeout=120),
            lambda: client.packet_in("npu0", timeout=120),
            lambda: client.barrier("npu0"),
            lambda: client.install({"npu0": EVERY_KIND}),
        ):
            with pytest.raises(InstallError, match=r"^npu0: "):
                call()


class TestPackets:
    def test_packet_out_reaches_the_engine_before_the_barrier_returns(
        self, client: P4RuntimeClient, bench: Bench
    ) -> None:
        client.install({"npu0": [forward("exact_table", 3, a=Exact(1))]})
        for _ in range(5):
            client.packet_out("npu0", (1 << 64).to_bytes(10), egress_port=7)
        client.barrier("npu0")
        bench.network.run(10**12)
        assert client.read_counter("npu0", "ports")[1] == (5, 5 * (10 + 2))  # with their packet_out header

    def test_bad_metadata(self, client: P4RuntimeClient) -> None:
        with pytest.raises(
            InstallError, match="npu0: packet_out: metadata egres_port is not in the p4info; did you mean"
        ):
            client.packet_out("npu0", b"", egres_port=1)
        with pytest.raises(InstallError, match="npu0: egress_port = 0x200 does not fit in 9 bits"):
            client.packet_out("npu0", b"", egress_port=512)

    @pytest.mark.parametrize("bench", [SOCKET], indirect=True)
    def test_refused_packet_out_shows_in_the_barrier(self, client: P4RuntimeClient, bench: Bench) -> None:
        """A controller of another role changes the program under the client's feet."""
        _, info = sampler.program()
        del info.controller_packet_metadata[:]
        with Controller(bench.address, role="other") as other:
            other.enter()
            other.push((FILES.json, info))
        for _ in range(3):
            client.packet_out("npu0", b"x", egress_port=1)
        with pytest.raises(
            InstallError, match=r"npu0 refused a packet-out: .*\(INVALID_ARGUMENT\), and 2 more; compare"
        ):
            client.barrier("npu0")
        client.barrier("npu0")

    def test_program_without_controller_headers(self, client: P4RuntimeClient) -> None:
        bmv2, info = sampler.program()
        del info.controller_packet_metadata[:]
        client.push_pipeline({"npu1": ProgramFiles(*sampler.packed(bmv2, info))})
        client.packet_out("npu1", b"as it is")
        client.barrier("npu1")

    def test_packet_ins_come_in_order_by_name(self, client: P4RuntimeClient, bench: Bench) -> None:
        for number in range(3):
            bench.server.packet_in(2, (number << 7).to_bytes(2) + bytes([number]))
        for number in range(3):
            expected = PacketIn(bytes([number]), {"ingress_port": number, "pad": 0})
            assert client.packet_in("npu1") == expected
        with pytest.raises(InstallError, match=r"npu1 sent no packet-in within 0.01 s"):
            client.packet_in("npu1", timeout=0.01)

    def test_close_twice(self, bench: Bench) -> None:
        client = P4RuntimeClient(bench.address)
        client.connect(DEVICES)
        client.close()
        client.close()


def test_first_callers_share_one_event_loop() -> None:
    """In a process of its own, since the loop is one a process."""
    program = (
        "import sys, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from controller.p4runtime.event_loop import background_loop\n"
        "sys.setswitchinterval(1e-6)\n"
        "barrier = threading.Barrier(8)\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    loops = list(pool.map(lambda _: (barrier.wait(), background_loop())[1], range(8)))\n"
        "assert len(set(map(id, loops))) == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[3])
