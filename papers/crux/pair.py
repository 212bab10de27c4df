# SPDX-License-Identifier: Apache-2.0
"""Two contending jobs, a GPT on 64 accelerators and a BERT on 16: the paper's first measurement.

Published (Crux, section 2.2): GPT's iteration grows from 1.53 s to 1.70 s, 11.0 %. GPT loses 9.9 % of its
throughput and BERT 7.7 %; together the accelerators lose 9.5 % of their work. The paper does not give the
length of BERT's iteration, nor the share of sending in the iterations of both jobs.

Ours: BERT's iteration takes 0.6 s, of which 40 % is sending; computation hides no sending; both jobs share
one link evenly. GPT's share of sending is fitted: its iteration grows by 11.0 %. The losses of GPT, BERT and
both together are results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

from controller.jobs import JobProfile, simulate

__all__ = ["GPT_SECONDS", "Pair", "contention", "fitted_share"]

GPT_SECONDS = 1.53
_GPUS = (64, 16)


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """Result of two contending jobs.

    Attributes:
        longer: length of GPT's iteration, divided by the length without BERT; 1.1 means 10 % longer.
        gpt: share of throughput that GPT loses.
        bert: share of throughput that BERT loses.
        work: share of work that the accelerators of both jobs lose.
    """

    longer: float
    gpt: float
    bert: float
    work: float


def contention(
    share: float, bert_seconds: float = 0.6, bert_share: float = 0.4, levels: tuple[int, int] = (0, 0)
) -> Pair:
    """Simulate both jobs for the time of 400 iterations of GPT alone.

    Args:
        share: share of sending in GPT's iteration.
        bert_seconds: length of BERT's iteration alone.
        bert_share: share of sending in BERT's iteration.
        levels: priority levels of GPT and BERT; links serve lower levels first.
    """
    alone = (GPT_SECONDS, bert_seconds)
    jobs = [
        JobProfile(seconds * (1 - sending), {0: seconds * sending})
        for seconds, sending in zip(alone, (share, bert_share), strict=True)
    ]
    ran = simulate(jobs, levels, 400 * GPT_SECONDS)
    # Throughput by computation, not by iterations, since the end cuts the last iteration off.
    speed = [
        float(done) / (seconds * (1 - sending)) / ran.seconds * seconds
        for done, seconds, sending in zip(ran.computed, alone, (share, bert_share), strict=True)
    ]
    lost = [1 - item for item in speed]
    work = [gpus * (1 - sending) for gpus, sending in zip(_GPUS, (share, bert_share), strict=True)]
    whole = sum(item * part for item, part in zip(lost, work, strict=True)) / sum(work)
    return Pair(1 / speed[0], lost[0], lost[1], whole)


@lru_cache(maxsize=16)
def fitted_share(longer: float = 1.11, bert_seconds: float = 0.6, bert_share: float = 0.4) -> float:
    """Return the share of sending at which GPT's iterations become `longer` times as long, by bisection.

    BERT's iterations take `bert_seconds` alone, of which it sends for the share `bert_share`.
    """
    low, high = 0.05, 0.8
    for _ in range(12):
        middle = (low + high) / 2
        if contention(middle, bert_seconds, bert_share).longer < longer:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 3)
