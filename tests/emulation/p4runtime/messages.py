# SPDX-License-Identifier: Apache-2.0
"""Short ways to say what a controller of the sampler says, and to catch what the server refuses."""

from collections.abc import Callable

import grpc
import pytest
from finsy.proto import p4r, rpc_code

from tests.emulation import sampler
from tests.emulation.controller_stub import code_of, details_of

BMV2, INFO = sampler.program()
CONFIG = (sampler.packed(BMV2, INFO)[0], INFO)
TABLE = {table.preamble.alias: table.preamble.id for table in INFO.tables}
ACTION = {action.preamble.alias: action.preamble.id for action in INFO.actions}
COUNTER, REGISTER = INFO.counters[0].preamble.id, INFO.registers[0].preamble.id


def action(name: str = "forward", *params: bytes, first: int = 1) -> p4r.TableAction:
    sent = [p4r.Action.Param(param_id=first + index, value=value) for index, value in enumerate(params)]
    return p4r.TableAction(action=p4r.Action(action_id=ACTION[name], params=sent))


FORWARD = action("forward", b"\x05")


def exact(field: int, value: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=field, exact=p4r.FieldMatch.Exact(value=value))


def lpm(value: bytes, prefix: int) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=1, lpm=p4r.FieldMatch.LPM(value=value, prefix_len=prefix))


def ternary(value: bytes, mask: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=1, ternary=p4r.FieldMatch.Ternary(value=value, mask=mask))


def within(low: bytes, high: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=2, range=p4r.FieldMatch.Range(low=low, high=high))


def optional(value: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=3, optional=p4r.FieldMatch.Optional(value=value))


def entry(
    table: str, *match: p4r.FieldMatch, do: p4r.TableAction | None = FORWARD, **fields: object
) -> p4r.Entity:
    message = p4r.TableEntry(table_id=TABLE[table], match=match, **fields)  # pyright: ignore
    if do is not None:
        message.action.CopyFrom(do)
    return p4r.Entity(table_entry=message)


def mixed(priority: int = 1, *match: p4r.FieldMatch, do: p4r.TableAction | None = FORWARD) -> p4r.Entity:
    return entry("mixed_table", *match, do=do, priority=priority)


def all_of(table: str = "", **fields: object) -> p4r.Entity:
    """A wildcard read."""
    return p4r.Entity(table_entry=p4r.TableEntry(table_id=TABLE[table] if table else 0, **fields))  # pyright: ignore


def frame(a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0) -> bytes:
    return (a << 64 | b << 48 | c << 39 | d << 32 | e).to_bytes(10)


def refused(call: Callable[[], object]) -> tuple[str, str]:
    """Code and message of a call that fails as a whole."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return code_of(caught.value), caught.value.details() or ""  # pyright: ignore[reportAttributeAccessIssue]


def refusals(call: Callable[[], object]) -> list[str]:
    """The code of every update of a Write (or request of a Read) that failed in part."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    assert code_of(caught.value) == "UNKNOWN"
    return [rpc_code.Code.Name(error.canonical_code) for error in details_of(caught.value)]  # pyright: ignore
