# SPDX-License-Identifier: Apache-2.0
"""Runs whose links carry CNA24 and reliable transport headers, beside the same runs with CNA16."""

from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader

from emulation.errors import TestbedError
from emulation.traffic.frames.layers import CLH, LPH, NTH24, RTPH, SACK, SRH24, Ether, LinkNotice
from harness.errors import ScenarioError
from harness.report.captures import read_capture
from harness.report.measurement.metrics import measure
from harness.run.prepare import prepare
from harness.run.real_time import RealTime
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from harness.scenario.loader import load
from tests.oracle.make import embedded

MESH = """\
name: small
topology: {{name: full-mesh, dims: [2, 4], lane_rate_gbps: 100}}
collective: {{elements: 16384, payload_bytes: 1024}}
link: {{detect_us: 1, network_header: {header}}}
transport: {{window: 32, initial_rto_us: 10, min_rto_us: 5}}
faults: [{{at_us: 0.5, link: npu0-npu1}}]
"""
POOL = """\
name: small
topology: {{name: ub-rack-lrs, dims: [2, 2], cpus: 2, spares: 0}}
link: {{network_header: {header}}}
pool: {{lenders: [cpu0.0, npu3], operations: 60, pages: 2, page_bytes: 256, counters: 2,
  counter_lender: cpu0.0, mix: {{counter: 10, message: 10}}}}
"""


def measured(path: Path, choice: TestbedChoice, captures: dict[str, Path] | None = None) -> dict[str, float]:
    (only,) = run(prepare(*load(path)), 1, choice=choice, captures=captures or {}).runs.values()
    assert not only.observation.first_wrong
    return measure(only)


def test_a_failure_under_an_allreduce(write: Callable[[str], Path], tmp_path: Path) -> None:
    """Data are right, sources learn of the failure, and every frame on a link has the headers of its form."""
    results = []
    for header in ("cna16", "cna24"):
        path = write(MESH.format(header=header))
        folder = tmp_path / header
        folder.mkdir()
        native = measured(path, Embedded("native"), {"npu0-npu2": folder})
        assert native == measured(path, embedded("python"))
        results.append(native)
    narrow, wide = results
    assert wide["correct_npus"] == wide["npus"] == 8
    assert wide["result_crc32"] == narrow["result_crc32"]
    assert wide["retransmitted_frames"] > 0
    assert wide["nodes_notified"] == narrow["nodes_notified"] > 0
    (capture,) = (tmp_path / "cna24").glob("*.pcap")
    kinds = set()
    with RawPcapReader(str(capture)) as reader:
        for data, _ in reader:
            frame = Ether(data)
            assert frame[LPH].cfg in (13, 14)
            assert (SRH24 in frame) == (frame[LPH].cfg == 14)
            assert frame[NTH24].scna < 8
            assert (RTPH in frame) == (LinkNotice not in frame)
            kinds |= {kind for kind in (CLH, SACK, LinkNotice) if kind in frame}
    assert kinds == {CLH, SACK, LinkNotice}
    (other,) = (tmp_path / "cna16").glob("*.pcap")
    assert len(read_capture(capture).data) > 0
    assert set(read_capture(capture).times_us) == set(read_capture(other).times_us)
    assert not read_capture(capture).times_us["other"]


def test_memory_operations(write: Callable[[str], Path]) -> None:
    narrow, wide = (measured(write(POOL.format(header=header)), Embedded()) for header in ("cna16", "cna24"))
    assert wide["correct_npus"] == 4
    assert wide["memory_operations"] == narrow["memory_operations"] == 240
    assert wide["slowest_operation_us"] > narrow["slowest_operation_us"]  # eight bytes more a frame and link


def test_what_cannot_have_the_header_is_refused(write: Callable[[str], Path]) -> None:
    mesh = MESH.format(header="cna24")
    rails = (
        "name: small\ntopology: {name: rail-only, domains: 2, hb_size: 4}\nlink: {network_header: cna24}\n"
    )
    with pytest.raises(ScenarioError, match=r":3: program rail_gpu has no variant for the CNA24"):
        prepare(*load(write(rails)))
    with pytest.raises(ScenarioError, match=r"a payload has 10192 bytes, .* a frame has 10184 at most"):
        prepare(*load(write(mesh.replace("payload_bytes: 1024", "payload_bytes: 10192"))))
    ready = prepare(*load(write(mesh.replace("payload_bytes: 1024", "payload_bytes: 10184"))))
    with pytest.raises(TestbedError, match="agents in real time support cna16 only"):
        RealTime("builtin").check(ready, captures=False)
    assert measured(write(mesh.replace("payload_bytes: 1024", "payload_bytes: 10184")), Embedded())
