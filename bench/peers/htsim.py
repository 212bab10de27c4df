# SPDX-License-Identifier: Apache-2.0
"""The engine beside htsim's NDP: the same permutation over the same fat tree, in one run.

`python -m bench.peers.htsim --htsim PROGRAM` prints JSON. PROGRAM, or the environment variable HTSIM_NDP, is
the `htsim_ndp` of github.com/Broadcom/csg-htsim, which the Makefile of its folder sim/datacenter builds.
Without it the engine alone is measured. Both get one matrix and one topology file: each host sends to one
other, in packets of 4,000 bytes. A packet-hop is a data packet at a switch of the tree: acknowledgements,
htsim's pulls, and the engine's switches of the hosts themselves take time and do not count. htsim's time is
what whole flows take more than flows of one packet; the engine's time includes the making of its agents.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN
from statistics import median
from tempfile import TemporaryDirectory

from bench.peers.timing import engine_times, timed
from harness.formats.registry import read_files
from harness.formats.written import write_imported
from harness.run.prepare import Prepared, prepare
from harness.scenario.loader import load

__all__ = ["fat_tree", "htsim_seconds", "matrix", "packet_hops", "permutation", "ready_of"]

PACKET_BYTES = 4_000
GIGABITS, LATENCY_NS = 100, 1_000
PATHS, WINDOW, QUEUE = 64, 50, 50  # htsim's, in packets
SEED = 1


def permutation(hosts: int, seed: int) -> list[int]:
    """Return destinations by source; no host sends to itself."""
    shuffled = list(range(hosts))
    random.Random(seed).shuffle(shuffled)
    ring = dict(zip(shuffled, shuffled[1:] + shuffled[:1], strict=True))
    return [ring[host] for host in range(hosts)]


def matrix(destinations: list[int], flow_bytes: int) -> str:
    """Return the permutation as a connection matrix of htsim."""
    flows = [
        f"{source}->{destination} id {source + 1} start 0 size {flow_bytes}"
        for source, destination in enumerate(destinations)
    ]
    return "\n".join([f"Nodes {len(flows)}", f"Connections {len(flows)}", *flows]) + "\n"


def fat_tree(radix: int) -> str:
    """Return a fat tree of switches with `radix` ports, for radix^3 / 4 hosts, as a topology of htsim."""
    half = radix // 2
    text = [f"Nodes {radix * half * half}", "Tiers 3", f"Podsize {half * half}"]
    for tier in range(3):
        text += ["", f"Tier {tier}", f"Downlink_speed_Gbps {GIGABITS}"]
        text += [f"Radix_Down {half}", f"Radix_Up {half}"] if tier < 2 else [f"Radix_Down {radix}"]
        text += [f"Downlink_Latency_ns {LATENCY_NS}"]
    return "\n".join(text) + "\n"


def packet_hops(radix: int, destinations: list[int], flow_bytes: int) -> int:
    """Return the number of data packets, each counted once a switch of the tree on a shortest path."""
    half = radix // 2
    switches = 0
    for source, destination in enumerate(destinations):
        same_pod = source // half**2 == destination // half**2
        switches += 1 if source // half == destination // half else 3 if same_pod else 5
    return switches * -(-flow_bytes // PACKET_BYTES)


def ready_of(folder: Path, radix: int, destinations: list[int], flow_bytes: int) -> Prepared:
    """Return the permutation as a planned scenario; writes matrix.cm and tree.topo, too."""
    (folder / "matrix.cm").write_text(matrix(destinations, flow_bytes))
    (folder / "tree.topo").write_text(fat_tree(radix))
    imported = read_files("htsim", [folder / "matrix.cm", folder / "tree.topo"])
    scenario = write_imported(imported, folder / "scenario", "matrix.cm")
    with scenario.open("a", encoding="utf-8") as file:
        file.write(f"  routing: {{peers: job}}\n  collective: {{payload_bytes: {PACKET_BYTES}}}\n")
    (ready,) = prepare(*load(scenario))
    return ready


def htsim_seconds(program: Path, folder: Path, destinations: list[int], flow_bytes: int) -> float:
    """Return the processor seconds of htsim's process; RuntimeError unless all flows have ended."""
    (folder / "htsim.cm").write_text(matrix(destinations, flow_bytes))
    until_us = 1_000 + 20 * flow_bytes * 8 // (GIGABITS * 1_000)
    options = {
        "-nodes": len(destinations),
        "-tm": folder / "htsim.cm",
        "-topo": folder / "tree.topo",
        "-linkspeed": GIGABITS * 1_000,
        "-mtu": PACKET_BYTES,
        "-strat": "perm",
        "-paths": PATHS,
        "-cwnd": WINDOW,
        "-q": QUEUE,
        "-end": until_us,
        "-o": folder / "htsim.log",
    }
    command = [str(program.resolve()), *(str(word) for pair in options.items() for word in pair)]
    done: subprocess.CompletedProcess[str] | None = None

    def run() -> None:
        nonlocal done
        # The program writes a file idmap.txt where it runs.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    _, seconds = timed(run, RUSAGE_CHILDREN)
    assert done is not None
    ended = done.stdout.count(" finished at ")
    if done.returncode != 0 or ended != len(destinations):
        raise RuntimeError(
            f"{program}: exit code {done.returncode}, {ended} of {len(destinations)} flows ended"
        )
    return seconds


def _figures(seconds: list[float], hops: int) -> dict[str, float]:
    middle = median(seconds)
    return {"seconds": middle, "packet_hops": hops, "packet_hops_per_core_second": hops / middle}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.peers.htsim", description=(__doc__ or "").strip())
    parser.add_argument(
        "--htsim", type=Path, default=os.environ.get("HTSIM_NDP"), help="the program htsim_ndp"
    )
    parser.add_argument("--radix", type=int, choices=(4, 8, 16), default=16, help="ports of a switch")
    parser.add_argument("--flow-bytes", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    destinations = permutation(given.radix**3 // 4, SEED)
    hops = packet_hops(given.radix, destinations, given.flow_bytes)
    program = given.htsim
    if program is None:
        print(
            "htsim is not measured: build htsim_ndp of github.com/Broadcom/csg-htsim and name it with "
            "--htsim or HTSIM_NDP",
            file=sys.stderr,
        )
    elif not program.is_file():
        parser.error(f"{program}: no such program; --htsim names the built htsim_ndp")
    engine: list[float] = []
    htsim: list[float] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        ready = ready_of(folder, given.radix, destinations, given.flow_bytes)
        for _ in range(given.rounds):  # in turn, so that a noisy machine is noisy for both
            engine.append(engine_times(ready)[1])
            if program is not None:
                whole, least = (
                    htsim_seconds(program, folder, destinations, flow_bytes)
                    for flow_bytes in (given.flow_bytes, PACKET_BYTES)
                )
                htsim.append(whole - least)
    result: dict[str, object] = {"hosts": len(destinations), "engine": _figures(engine, hops)}
    if htsim:
        result["htsim"] = _figures(htsim, hops)
        result["ratio"] = median(theirs / ours for theirs, ours in zip(htsim, engine, strict=True))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
