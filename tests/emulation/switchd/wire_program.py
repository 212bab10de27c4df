# SPDX-License-Identifier: Apache-2.0
"""Programs of tests/programs/ for tests of railyard-switchd, and the frames they read.

In wire.p4 the first byte of a frame names its egress port and priority; queue.p4 and departures.p4 also read
wishes in the second byte.
"""

from finsy.proto import p4i
from google.protobuf import text_format

from tests.emulation.switchd.switchd_process import ROOT

BUILD = ROOT / "tests" / "programs" / "build"
PROGRAM = BUILD / "wire.json"
CPU = 30
# Wishes of tests/programs/queue.p4, in the second byte.
COPIES, DIGEST, CLONE, REPORT, CLONE_ALL = 0x80, 0x40, 0x20, 0x08, 0x04


def frame_to(port: int, length: int = 64, priority: int = 0) -> bytes:
    """Distinct bytes behind the one that the program looks at."""
    return bytes([port << 3 | priority]) + bytes((7 * at + length) % 256 for at in range(1, length))


def wishing(port: int, wishes: int) -> bytes:
    return bytes([port << 3, wishes]) + bytes(range(62))


def config(program: str = "wire") -> tuple[bytes, p4i.P4Info]:
    info = text_format.Parse((BUILD / f"{program}.p4info.txtpb").read_text(), p4i.P4Info())
    return (BUILD / f"{program}.json").read_bytes(), info
