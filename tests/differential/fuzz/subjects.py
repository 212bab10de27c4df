# SPDX-License-Identifier: Apache-2.0
"""The programs that are fuzzed, and what is particular to some of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from controller import Entry
from controller.p4runtime.client import ProgramFiles
from tests.emulation.programs import ub_reference

__all__ = ["Subject", "subject"]


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """A program, with `standing` entries where random ones alone would use little of it.

    Frames for which `fatal` is true are not sent: an assertion that fails is the end of simple_switch.
    Without `writes` the tables stay as they are.
    """

    files: ProgramFiles
    standing: Sequence[Entry] = ()
    fatal: Callable[[bytes], bool] = lambda frame: False
    writes: bool = True


def subject(program: Path) -> Subject:
    """`program` is BMv2's JSON, with its p4info beside it."""
    files = ProgramFiles(program.read_bytes(), program.with_suffix(".p4info.txtpb").read_bytes())
    match program.stem:
        case "ub_npu" | "ub_switch" as name:
            router = next(router for router in ub_reference.ROUTERS if router.program == name)
            return Subject(files, standing=router.entries)
        case "externs":
            # Its loop never ends when a default entry sends it beyond what fits in its counter.
            return Subject(files, fatal=lambda frame: frame[:1] == b"\xfe", writes=False)
        case _:
            return Subject(files)
