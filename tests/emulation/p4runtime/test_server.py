# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime server as a process sees it: its address, its thread, its lock.

What it says to controllers is tested in `p4runtime/`, through a real gRPC channel.
"""

import asyncio
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from finsy.proto import U128, p4i, p4r, p4r_grpc, rpc_code
from google.protobuf import text_format

from controller.p4runtime.event_loop import run
from emulation._engine import Network
from emulation.errors import EmulationError
from emulation.p4runtime import P4RuntimeServer
from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import all_of, entry, exact, refused


def test_capabilities(client: Controller) -> None:
    assert client.stub.Capabilities(p4r.CapabilitiesRequest()).p4runtime_api_version.startswith("1.")
    unknown = p4r.CapabilitiesRequest(device_id=99)
    assert refused(lambda: client.stub.Capabilities(unknown))[0] == "NOT_FOUND"


def test_port_in_use(bench: Bench) -> None:
    second = P4RuntimeServer(Network(), {}, bench.address, lock=threading.RLock())
    with pytest.raises(
        EmulationError, match=f"cannot listen on {bench.address}: Address already in use; .*another address"
    ):
        second.start()
    second.stop()


def test_a_write_of_other_bytes_is_refused_whole(ready: Controller) -> None:
    plain = p4r.Update(type=p4r.Update.INSERT, entity=entry("exact_table", exact(1, b"\x01")))
    request = p4r.WriteRequest(device_id=1, election_id=U128.encode(1), updates=[plain])
    torn = p4r.WriteRequest(updates=[plain]).SerializeToString()[:-1]
    write = ready.channel.unary_unary("/p4.v1.P4Runtime/Write")
    # A field that ends early, no field, and an update that is none.
    for wrong in (torn, b"\xff", b"\x22\x01\xff"):
        code, message = refused(lambda data=wrong: write(request.SerializeToString() + data))
        assert (code, message[:27]) == ("INVALID_ARGUMENT", "the bytes are no WriteReque")
    assert not ready.read(all_of("exact_table"))
    write(request.SerializeToString())
    assert len(ready.read(all_of("exact_table"))) == 1


@pytest.mark.parametrize(
    "address", ["nonsense", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:70000", "192.0.2.1:0"]
)
def test_address_that_is_none(address: str) -> None:
    server = P4RuntimeServer(Network(), {}, address, lock=threading.RLock())
    with pytest.raises(EmulationError, match=f"cannot listen on {address}: .+; "):
        server.start()


def test_the_port_is_free_after_stop() -> None:
    address = "127.0.0.1:0"
    for _ in range(2):
        server = P4RuntimeServer(Network(), {}, address, lock=threading.RLock())
        address = server.start()
        server.stop()
        server.stop()


def test_stop_ends_open_streams(bench: Bench) -> None:
    """In good order: a stream that the server had waited for in vain would end with an RpcError."""
    with Controller(bench.address) as controller:
        controller.enter()
        bench.server.stop()
        with pytest.raises(StopIteration):
            controller.receive()


def test_unix_socket(tmp_path: Path) -> None:
    network = Network()
    address = f"unix:{tmp_path / 'grpc.sock'}"
    server = P4RuntimeServer(network, {1: network.add_switch("one")}, address, lock=threading.RLock())
    assert server.start() == address
    with Controller(address) as controller:
        assert controller.enter().status.code == rpc_code.OK
    server.stop()


@pytest.mark.long
def test_streams_to_every_switch_of_a_pod_at_once() -> None:
    """2,208 calls wait to be taken up, of which gRPC would refuse some if it were not told otherwise."""
    network = Network()
    switches = {device: network.add_switch(f"switch{device}") for device in range(1, 2209)}
    server = P4RuntimeServer(network, switches, lock=threading.RLock())
    address = server.start()

    async def enter(stub: Any, device: int) -> int:
        stream = stub.StreamChannel()
        update = p4r.MasterArbitrationUpdate(device_id=device, election_id=p4r.Uint128(low=1))
        await stream.write(p4r.StreamMessageRequest(arbitration=update))
        answer = await stream.read()
        stream.cancel()
        return answer.arbitration.status.code

    async def enter_all() -> set[int]:
        async with grpc.aio.insecure_channel(address) as channel:
            stub = p4r_grpc.P4RuntimeStub(channel)
            return set(await asyncio.gather(*(enter(stub, device) for device in switches)))

    assert run(enter_all()) == {rpc_code.OK}
    server.stop()


def test_engine_calls_wait_for_the_lock(ready: Controller, bench: Bench) -> None:
    write = threading.Thread(
        target=ready.write, args=(("INSERT", entry("exact_table", exact(1, b"\x01"))),), daemon=True
    )
    with bench.lock:
        write.start()
        write.join(timeout=0.05)
        assert bench.network.table_len(0, 0) == 0
    write.join(timeout=120)
    assert bench.network.table_len(0, 0) == 1


def test_a_packet_out_that_its_program_stops_is_named_and_the_stream_goes_on(
    bench: Bench, client: Controller
) -> None:
    build = Path(__file__).resolve().parents[2] / "programs" / "build" / "departures"
    info = text_format.Parse(build.with_suffix(".p4info.txtpb").read_text(), p4i.P4Info())
    client.push((build.with_suffix(".json").read_bytes(), info))
    bench.network.clone_set(0, 1, [(2, 0)], 0)
    looping = p4r.PacketOut(payload=bytes([2 << 3, 0x04]) + bytes(60))  # clones itself, and so does its clone
    for _ in range(2):
        client.send(packet=looping)
        error = client.receive().error
        assert error.canonical_code == rpc_code.INTERNAL
        assert "switch1: a frame was resubmitted, recirculated or cloned" in error.message
        assert error.packet_out.packet_out == looping
