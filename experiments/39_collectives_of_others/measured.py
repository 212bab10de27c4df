# SPDX-License-Identifier: Apache-2.0
"""Collectives measured on eight GPUs beside the same algorithms here.

The public data set ns3-msccl-data (github.com/rouge3877/ns3-msccl-data, Validation/SingleCollective) has
algorithms of MSCCL and the times that rccl-tests measured with them on eight MI300X, a full mesh of xGMI
links of 64 GB/s each way. A model of links knows neither how long a kernel takes to start nor how fast its
threadblocks copy: both are taken from the measurements, the one from the smallest size, the other from the
two largest, and other sizes show what they explain.
"""

import csv
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.formats.msccl.graph import read_msccl
from harness.formats.written import write_imported
from papers.checking.statements import heading
from railyard.command import result_of

GPUS = 8
LINK_GBPS = 512
SIZES = (1 << 16, 1 << 20, 1 << 24)
# Algorithm: chunks of the array, and bytes that cross the busiest link for each byte of the array.
ALGORITHMS: Mapping[str, tuple[int, float]] = {
    "1x8-allreduce-allpair/ar_allpair_simple_x_1": (64, 2 / GPUS),
    "1x8-allreduce-allpair/ar_allpair_simple_x_8": (512, 2 / GPUS),
    "1x8-allgather-ring/ag_ring_simple_1_1": (8, (GPUS - 1) / GPUS),
}


def measurements(file: Path) -> Mapping[int, float]:
    """Return microseconds by bytes of the array, without empty arrays and failed measurements."""
    with file.open(encoding="utf-8") as text:
        rows = [row for row in csv.DictReader(text) if row["count"] != "0" and row["time"][:1].isdecimal()]
    return {int(row["size"]): float(row["time"]) for row in rows}


def kernel(times: Mapping[int, float], crossing: float) -> tuple[float, float]:
    """Return the time of the smallest size, in µs, and GB/s over the busiest link between the two largest."""
    small, large = sorted(times)[-2:]
    return times[min(times)], (large - small) * crossing / (times[large] - times[small]) / 1000


def our_time(algorithm: Path, chunk_bytes: int, link_gbps: float) -> float | None:
    """Return the microseconds of an algorithm on a full mesh; None if the result is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        imported = read_msccl([algorithm], chunk_bytes=chunk_bytes)
        scenario = write_imported(imported, Path(folder) / "imported", algorithm.name)
        text = scenario.read_text(encoding="utf-8")
        links = f"  dims: [{GPUS}]\n  lanes: 1\n  lane_rate_gbps: {link_gbps:.3f}"
        # GPUs send to each other directly: no detours over a third.
        text = text.replace(f"  dims: [{GPUS}]", links) + "  routing: {strategy: shortest}\n"
        scenario.write_text(text, encoding="utf-8")
        code, result = result_of(scenario, "--no-report", "--quiet")
    return None if code else result["metrics"]["run.completion_us"]


def compare(folder: Path) -> Iterator[tuple[str, bool]]:
    """Print a table; for each of its lines, yield a statement and whether the statement is true."""
    times_of = ("measured, µs", "links here, µs", "kernels' start and rate, µs")
    print(heading("algorithm", "array", *times_of, "ratio"))
    for name, (chunks, crossing) in ALGORITHMS.items():
        times = measurements(folder / "GroundTruth" / f"{name}_in_place.csv")
        start_us, rate = kernel(times, crossing)
        for size in SIZES:
            file = folder / "Input" / f"{name}.xml"
            links = our_time(file, size // chunks, LINK_GBPS)
            copied = our_time(file, size // chunks, rate * 8)
            if links is None or copied is None:
                yield f"{name}, {size:,} bytes: the result is right", False
                continue
            explained = start_us + copied
            print(
                f"| {Path(name).name} | {size:,} | {times[size]:,.1f} | {links:,.1f} | "
                f"{start_us:.1f} + {copied:,.1f} at {rate:.1f} GB/s | {explained / times[size]:.2f} |",
                flush=True,
            )
            yield f"{Path(name).name}, {size:,} bytes: links are faster than kernels", links < times[size]
