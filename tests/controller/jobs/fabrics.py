# SPDX-License-Identifier: Apache-2.0
"""Jobs over a few links, for tests."""

import numpy as np

from controller.jobs import Job

RATES = np.ones(8)


def wire(name: str, gpus: int, compute: float, sends: float, overlap: float = 0.0, link: int = 0) -> Job:
    """One flow over one link."""
    return Job(name, gpus, compute, np.array([sends]), np.array([[[link]]]), overlap)


def fork(name: str, gpus: int, compute: float, sends: float, ways: int = 2, flows: int = 1) -> Job:
    """Flows from one leaf to another by way of any of some spines: links s up, 4 + s down."""
    paths = np.array([[[spine, 4 + spine] for spine in range(ways)]] * flows)
    return Job(name, gpus, compute, np.full(flows, sends), paths)


def drawn(rng: np.random.Generator, number: int, ways: int = 2) -> list[Job]:
    return [
        fork(f"job{n}", int(2 ** rng.integers(3, 7)), rng.uniform(0.3, 2.0), rng.uniform(0.2, 1.0), ways)
        for n in range(number)
    ]
