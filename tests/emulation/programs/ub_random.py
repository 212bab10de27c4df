# SPDX-License-Identifier: Apache-2.0
"""Random frames for the programs: every part usually right, sometimes not."""

import random

from tests.emulation.programs.ub_frames import ETHERTYPE, Srh, UbFrame, instructions
from tests.emulation.programs.ub_reference import (
    BELOW,
    CPU_PORT,
    GPUS,
    LONGEST,
    OWN_CNA,
    SPREAD,
    Router,
    coded,
    packet_out,
)

__all__ = ["random_frames"]


def random_frames(router: Router, count: int, seed: int, longest: int = 1500) -> list[tuple[int, bytes]]:
    """(port, frame) for a router. A number ends each whole frame.

    `longest` is of the payload in front of the number, in bytes.
    """
    rng = random.Random(seed)
    # Vertical ports are many, so that the others come and go less often than they should.
    often = (0, 0) if router.has_host else (6 if router.has_rail else 2) * tuple(range(18))
    ranks = range(min(router.last_port, 128))
    others = [
        *(4 * [GPUS] if router.has_pxn else []),
        *(4 * [BELOW, BELOW | 3, SPREAD] if router.has_rail else []),
    ]
    created = []
    for number in range(count):
        srh = None
        if rng.random() < 0.6:
            bitmap = rng.choice(
                [0, rng.getrandbits(12), rng.getrandbits(12) & rng.getrandbits(12), 0xD00, 0xFFF]
            )
            ptr = rng.choice([0, 0, 1, rng.randrange(12), rng.randrange(16)])
            steps = (rng.choice([0, rng.choice(router.ports) & 255, rng.getrandbits(8)]) for _ in range(6))
            srh = Srh(ptr, bitmap, instructions(*steps))
        in_mesh = rng.randrange(64), rng.randrange(64)
        frame = UbFrame(
            dcna=rng.choice(
                [
                    OWN_CNA,
                    *in_mesh,
                    2 << 13 | rng.choice(ranks) << 6,
                    rng.getrandbits(16),
                    *(first | rng.getrandbits(8) << 3 | rng.getrandbits(3) % 5 for first in others),
                ]
            ),
            vl=rng.choice([0, 1, 2, 3, rng.getrandbits(4)]),
            cfg=None if rng.random() < 0.97 else rng.getrandbits(4),
            srh=srh,
            scna=rng.getrandbits(16),
            lb=rng.getrandbits(8),
            sl=rng.choice([0, 0, 1, rng.getrandbits(4)]),
            mgmt=int(rng.random() < 0.2),
            # A tail of 20 or more codes no length; what comes of one is between the sender and itrouter.
            length=None
            if rng.random() < 0.5
            else coded(rng.choice([rng.randrange(12), rng.randrange(LONGEST), -1]) % LONGEST),
            lb_mode=rng.getrandbits(1),
            other_lph=rng.getrandbits(8),
            payload=rng.randbytes(rng.choice([0, rng.randrange(min(200, longest)), rng.randrange(longest)]))
            + number.to_bytes(4),
            ethertype=ETHERTYPE if rng.random() < 0.98 else 0x86DD,
            addresses=rng.randbytes(12),
        ).packed()
        if rng.random() < 0.03:
            frame = frame[: rng.randrange(40)]
        port = rng.choice([*router.ports, *often, CPU_PORT])
        if port == CPU_PORT:
            egress = rng.choice([rng.choice(router.ports), rng.getrandbits(9)])
            frame = packet_out(frame, egress_port=egress, routed=rng.getrandbits(1))
        created.append((port, frame))
    return created
