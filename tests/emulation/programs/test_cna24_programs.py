# SPDX-License-Identifier: Apache-2.0
"""The programs with the CNA24 header do to a frame what those with the CNA16 header do to it.

Random frames of the CNA16 programs go through both forms on the engine, with the same tables; what comes out
must be the same frame in the other form, and dropped for the same reasons.
"""

from collections.abc import Iterator

import pytest
from finsy.proto import p4r

from controller import Entry, Lpm
from controller.forwarding.pipeline import DropReason
from controller.p4runtime.p4info import P4Info
from tests.emulation.programs.cna24_frames import PAIRS, widened, widened_at
from tests.emulation.programs.standing import Standing
from tests.emulation.programs.ub_frames import UbFrame
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import Router

FRAMES = 1500


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: pair[1].program)
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Standing, Standing]]:
    narrow, wide = (Standing(router) for router in request.param)
    yield narrow, wide
    narrow.close()
    wide.close()


@pytest.mark.parametrize("seed", range(2))
def test_random_frames_leave_in_the_other_form(both: tuple[Standing, Standing], seed: int) -> None:
    narrow, wide = both
    delivered = 0
    for port, frame in random_frames(narrow.tables, FRAMES, seed):
        expected = [(out, widened_at(out, left)) for out, left in narrow(port, frame)]
        assert wide(port, widened_at(port, frame)) == expected, (port, frame.hex())
        delivered += len(expected)
    assert delivered > FRAMES / 10
    assert narrow.dropped() == wide.dropped()


@pytest.mark.parametrize(("scna", "dcna"), [(0, 1 << 16 | 0x0A), (0, 0xFF0000), (0xFF0000, 0x0A)])
def test_tables_have_no_route_to_an_address_of_more_than_16_bits(
    both: tuple[Standing, Standing], scna: int, dcna: int
) -> None:
    wide = both[1]
    wide.dropped()
    frame = bytearray(widened(UbFrame(0x0A).packed()))
    frame[19:22], frame[22:25] = scna.to_bytes(3), dcna.to_bytes(3)
    left = wide(1, bytes(frame))
    if dcna >> 16:
        assert left == []
        assert wide.dropped() == {DropReason.NO_ROUTE: 1}
    else:
        assert left == [(2, bytes(frame))]


@pytest.mark.parametrize("router", [router for pair in PAIRS for router in pair], ids=lambda r: r.program)
def test_prefixes_are_read_as_they_were_planned(router: Router) -> None:
    info = P4Info.parse(router.files.p4info)
    wide = router.program.endswith("_cna24")
    params = ("base", 1), ("shift", 2), ("mask", 3)
    for prefix, bits in ((Lpm(0x4000, 3), 11 if wide else 3), (Lpm(0, 0), 8 if wide else 0)):
        entry = Entry("segment", (("dcna", prefix),), "set_segment", params)
        message = p4r.TableEntry.FromString(info.encode(entry))
        assert message.match[0].lpm.prefix_len == bits
        assert info.decode(message) == (
            entry if prefix.prefix else Entry("segment", (), "set_segment", params)
        )
