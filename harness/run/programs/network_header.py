# SPDX-License-Identifier: Apache-2.0
"""Variants of the P4 programs for CNA24, congestion marks and sums in switches; checks of frame sizes."""

from collections.abc import Iterable

from emulation.errors import ProgramError
from emulation.traffic.frames.values import NetworkHeader
from emulation.traffic.frames.wire import DATA_HEADER_BYTES, MAX_PAYLOAD_BYTES, SRH_BYTES
from harness.errors import ScenarioError
from topologies import Fabric

__all__ = ["check_credits", "check_network_header", "program_name"]

_CNA24_PROGRAMS = ("ub_npu", "ub_switch")
_ECN_PROGRAMS = ("ub_npu", "ub_switch", "rail_gpu", "rail_switch")
_REDUCING_PROGRAMS = ("ub_switch", "rail_switch")

# Bytes by which the headers CNA24 and RTPH together are longer than CNA16 and TPH.
_LONGER = 8


def program_name(program: str, header: NetworkHeader, *, marks: bool = False, reduces: bool = False) -> str:
    """Return the name of the variant of a program for a network header.

    Args:
        program: Name of the program for CNA16.
        header: Network header of the frames.
        marks: The variant marks frames that leave a long queue.
        reduces: The variant reduces frames: it combines their values in the switch.

    Raises:
        ProgramError: The program has no such variant.
    """
    if reduces:
        if marks or header != "cna16" or program not in _REDUCING_PROGRAMS:
            raise ProgramError(
                f"program {program} has no variant that reduces frames with the header {header.upper()}"
                + (" and congestion marks" if marks else ""),
                remedy="leave out `ecn_frames:` and `network_header:`, or use another algorithm than "
                f"switch-tree; {' and '.join(_REDUCING_PROGRAMS)} have that variant",
            )
        return f"{program}_reduce"
    if marks and (header != "cna16" or program not in _ECN_PROGRAMS):
        raise ProgramError(
            f"program {program} has no variant that marks frames with the {header.upper()} network header",
            remedy="leave out `ecn_frames:` or `network_header:`; "
            f"{', '.join(_ECN_PROGRAMS)} mark frames with the CNA16 header",
        )
    if marks:
        return f"{program}_ecn"
    if header == "cna16":
        return program
    if program not in _CNA24_PROGRAMS:
        raise ProgramError(
            f"program {program} has no variant for the CNA24 network header",
            remedy=f"leave out `network_header: cna24`; {' and '.join(_CNA24_PROGRAMS)} have that variant",
        )
    return f"{program}_cna24"


def check_network_header(
    fabric: Fabric,
    header: NetworkHeader,
    payloads: Iterable[int],
    *,
    marks: bool = False,
    reduces: bool = False,
) -> None:
    """Check that programs and frames of a fabric can have a network header.

    Args:
        fabric: Fabric whose nodes run the programs.
        header: Network header of the frames.
        payloads: Sizes of payloads in bytes.
        marks: The programs mark frames that leave a long queue.
        reduces: The programs of switches combine values of frames.

    Raises:
        ProgramError: A program has no variant with these features.
        ScenarioError: A frame with the header has no room for the largest payload.
    """
    for program, is_switch in sorted({(node.program, node.is_switch) for node in fabric.nodes}):
        program_name(program, header, marks=marks, reduces=reduces and is_switch)
    largest = max(payloads, default=0)
    most = MAX_PAYLOAD_BYTES - _LONGER
    if header == "cna24" and largest > most:
        raise ScenarioError(
            f"a payload has {largest} bytes, and with the CNA24 network header a frame has {most} at most",
            remedy=f"give `payload_bytes: {most - most % 4}` or less, or leave out `network_header:`",
        )


def check_credits(
    credit_bytes: int, payloads: Iterable[int], header: NetworkHeader, *, steered: bool
) -> None:
    """Raise a ScenarioError if the receive buffer of a port and virtual lane is smaller than a frame.

    `payloads` are sizes in bytes; a `steered` frame has a source-route header.
    """
    largest = max(payloads, default=0)
    headers = DATA_HEADER_BYTES + SRH_BYTES * steered + _LONGER * (header == "cna24")
    if largest and credit_bytes < largest + headers:
        raise ScenarioError(
            f"`credit_bytes: {credit_bytes}` is less than a frame, which has {largest} bytes of data and "
            f"{headers} of headers, so no frame could ever be sent",
            remedy=f"give {largest + headers} or more, or a smaller `payload_bytes:`",
        )
