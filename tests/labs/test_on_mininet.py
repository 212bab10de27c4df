"""Lab 1 on the Mininet testbed, as root: the student's program on BMv2, a process for each node."""

import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from controller.p4runtime.client import ProgramFiles
from emulation.linux import netns
from emulation.mininet.testbed import MininetTestbed
from harness.lessons.attempt import Attempt
from harness.lessons.catalogue import find_lab
from harness.lessons.folder import copy_for_check
from harness.lessons.p4_program import compiled_program
from harness.run.boot import filled
from tests.labs.classroom import solution, starter
from topologies import HOST_PORT, full_mesh

LAB = find_lab("01_source_route")
FRAMES = 60
SECONDS = 20.0
ALL_PROTOCOLS = 3

pytestmark = [
    pytest.mark.bmv2,
    pytest.mark.long,
]


@pytest.fixture(scope="module")
def check() -> Iterator[ModuleType]:
    spec = spec_from_file_location("check_of_lab_1", LAB.folder / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def compiled(files: Mapping[str, str], folder: Path) -> ProgramFiles:
    (folder / "student").mkdir()
    for name, text in files.items():
        (folder / "student" / name).write_text(text)
    copy_for_check(folder / "student", LAB, folder / "copy")
    return compiled_program(Attempt(LAB, folder / "copy", 1, folder))


def arrivals(
    check: ModuleType, program: ProgramFiles, marked: Mapping[bytes, object]
) -> set[tuple[int, bytes]]:
    """Send each frame at its source's eth0; return what arrives at all hosts until nothing comes any more."""
    fabric = full_mesh((4,))
    testbed = MininetTestbed(fabric, switch="bmv2")
    entries = {node.name: check._table(fabric, node) for node in fabric.nodes}
    with filled(testbed, dict.fromkeys(entries, program), entries):
        sockets = [netns.inside(testbed.namespaces[node.name], raw_socket) for node in fabric.nodes]
        got: set[tuple[int, bytes]] = set()
        for frame, case in marked.items():
            sockets[case.node].send(frame)  # type: ignore[attr-defined]
            time.sleep(0.002)
        until, quiet = time.monotonic() + SECONDS, 0
        while quiet < 50 and time.monotonic() < until:
            quiet += 1
            for node, host in enumerate(sockets):
                while (frame := taken(host)) is not None:
                    quiet = 0
                    got.add((node, frame))
            time.sleep(0.01)
        for host in sockets:
            host.close()
    return got


def raw_socket() -> socket.socket:
    host = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    host.bind(("eth0", 0))
    host.setblocking(False)
    return host


def taken(host: socket.socket) -> bytes | None:
    """Next frame that came in, without those that the host sent."""
    while True:
        try:
            frame, address = host.recvfrom(2048)
        except BlockingIOError:
            return None
        if address[2] != socket.PACKET_OUTGOING and frame[12:14] == b"\x88\xb5":
            return frame


def drawn(check: ModuleType) -> tuple[dict[bytes, object], set[tuple[int, bytes]]]:
    """Frames with a number in their last bytes, and where each must arrive, with all its bytes."""
    fabric = full_mesh((4,))
    draw = Attempt(LAB, Path(), 7, Path()).random("mininet")
    marked: dict[bytes, object] = {}
    expected: set[tuple[int, bytes]] = set()
    for number in range(FRAMES):
        case = (check.draw_steered, check.draw_mixed, check.draw_malformed)[number % 3](draw, 4)
        frame = check._frame(fabric, case)[:-4] + number.to_bytes(4)
        marked[frame] = case
        node, route = case.node, case.route
        while (decided := check._expected(fabric, node, case.target, route)) is not None:
            egress, route = decided
            if egress == HOST_PORT:
                expected.add((node, check._with_route(frame, route)))
                break
            peer = fabric.peer(f"npu{node}", egress)
            assert peer is not None
            node = fabric.node(peer.node).index
    return marked, expected


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c-bm2-ss is not on the PATH")
def test_the_solution_passes_on_bmv2_in_namespaces(check: ModuleType, tmp_path: Path):
    marked, expected = drawn(check)
    assert 20 < len(expected) < FRAMES
    assert arrivals(check, compiled(solution(LAB.name), tmp_path), marked) == expected


def test_the_starter_fails_on_bmv2_in_namespaces(check: ModuleType, tmp_path: Path):
    marked, expected = drawn(check)
    assert arrivals(check, compiled(starter(LAB.name), tmp_path), marked) != expected
