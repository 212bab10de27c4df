# SPDX-License-Identifier: Apache-2.0
"""Programs and limits of a variant whose links carry the CNA24 network header."""

from collections.abc import Iterable

from emulation.errors import ProgramError
from emulation.traffic.frames.values import NetworkHeader
from emulation.traffic.frames.wire import MAX_PAYLOAD_BYTES
from lab.errors import ScenarioError
from topologies import Fabric

__all__ = ["check_network_header", "program_name"]

_CNA24_PROGRAMS = ("ub_npu", "ub_switch")

# Bytes by which CNA24 and RTPH are longer than CNA16 and TPH.
_LONGER = 8


def program_name(program: str, header: NetworkHeader) -> str:
    """Return the name of the program that does for a network header what `program` does for CNA16.

    Raises:
        ProgramError: There is none.
    """
    if header == "cna16":
        return program
    if program not in _CNA24_PROGRAMS:
        raise ProgramError(
            f"program {program} has no form for the CNA24 network header",
            remedy=f"leave out `network_header: cna24`; {' and '.join(_CNA24_PROGRAMS)} have that form",
        )
    return f"{program}_cna24"


def check_network_header(fabric: Fabric, header: NetworkHeader, payloads: Iterable[int]) -> None:
    """Raise an error if a fabric's programs, or frames with payloads of these bytes, cannot have a header."""
    for program in sorted({node.program for node in fabric.nodes}):
        program_name(program, header)
    largest = max(payloads, default=0)
    most = MAX_PAYLOAD_BYTES - _LONGER
    if header == "cna24" and largest > most:
        raise ScenarioError(
            f"payloads of {largest} bytes: with the CNA24 network header a frame carries {most} at most",
            remedy=f"give `payload_bytes: {most - most % 4}` or less, or leave out `network_header:`",
        )
