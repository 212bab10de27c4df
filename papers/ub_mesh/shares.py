# SPDX-License-Identifier: Apache-2.0
"""Share of a path in the traffic of a source, over time, while the path's first link slows down.

npu0 sends an array to npu5 in a full mesh of 4 by 4 NPUs; the shortest paths lead through npu1 and npu4. The
shares come from frame counters of the links of npu0.
"""

from __future__ import annotations

from itertools import pairwise
from math import nan

from emulation.testbed import Testbed
from harness.run.observation.values import Observation
from papers.claims.runs import ran

__all__ = ["BIN_US", "shares_over_time"]

US = 10**6
BIN_US = 4
SLOW_LINK = "npu0-npu1"
# Fewest frames in a bin for a meaningful share: almost half of the frames that npu0 can send in a bin.
FEWEST_FRAMES = 40

_SCENARIO = """\
topology: {{name: full-mesh, dims: [4, 4], lane_rate_gbps: 100}}
routing: {{strategy: {strategy}, weights: oblivious}}
collective:
  {{kind: broadcast, algorithm: direct, members: [npu0, npu5], elements: {elements}, payload_bytes: 4096}}
faults:
  - {{at_us: {onset_us}, link: {link}, event: rate, percent: {percent}}}
"""


def shares_over_time(
    strategy: str, *, elements: int, percent: int, onset_us: int, clear_us: int | None = None, until_us: int
) -> tuple[list[float], Observation]:
    """Return the share of link npu0-npu1 in the frames of npu0, by bin, and the run's observation.

    A bin lasts BIN_US microseconds; the share of a bin with few frames is nan.

    Args:
        strategy: routing strategy, all-path or adaptive.
        elements: elements of the array sent by npu0.
        percent: rate of npu0-npu1 in percent while it is slow.
        onset_us: virtual time at which the link slows down, in microseconds.
        clear_us: virtual time at which the link has its full rate again; None: it remains slow.
        until_us: end of the last bin; a multiple of BIN_US.
    """
    clear = "" if clear_us is None else f"  - {{at_us: {clear_us}, link: {SLOW_LINK}, event: clear}}\n"
    text = _SCENARIO.format(
        strategy=strategy, elements=elements, onset_us=onset_us, link=SLOW_LINK, percent=percent
    )
    counts: list[dict[str, int]] = []

    def look(testbed: Testbed) -> None:
        def sample() -> None:
            usage = testbed.link_usage()
            counts.append({name: usage[name][0].frames for name in usage if name.startswith("npu0-")})
            if len(counts) <= until_us / BIN_US:
                testbed.at(len(counts) * BIN_US * US, sample)

        testbed.at(0, sample)

    ((_, observation),) = ran(text + clear, look=look).values()
    bins = [{name: after[name] - before[name] for name in after} for before, after in pairwise(counts)]
    shares = [
        frames[SLOW_LINK] / sum(frames.values()) if sum(frames.values()) >= FEWEST_FRAMES else nan
        for frames in bins
    ]
    return shares, observation
