# SPDX-License-Identifier: Apache-2.0
"""Random actions compute what BMv2 specifies: unbounded integers, cut to the width of a field when assigned.

Few fields and constants make repeated subexpressions likely, which the engine computes once.
"""

import operator
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.programs_by_hand import Json, call, field, header_type, loaded, number, run_in, wire

WIDTHS = {"a": 8, "b": 16, "c": 13, "d": 27}
"""Fields behind the first byte of the header; d lies in two 64-bit words of it."""
MOST_STEPS = 12

Expression = tuple
"""A field's name, a number, or an operator and its operands."""

BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

leaves = st.sampled_from(sorted(WIDTHS)) | st.sampled_from([0, 1, 0x55, 0xFF, 0xFFF, 1 << 26])


def _grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return (
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner)
        | st.tuples(st.sampled_from(["<<", ">>"]), inner, st.integers(0, 9))
        | st.tuples(st.just("~"), inner)
    )


expressions = st.recursive(leaves, _grown, max_leaves=6)
assignments = st.tuples(st.sampled_from(sorted(WIDTHS)), expressions)
# A step assigns, or skips some of the next steps if an expression is zero.
steps = st.lists(assignments | st.tuples(st.integers(1, 3), expressions), min_size=1, max_size=MOST_STEPS)
values = st.fixed_dictionaries({name: st.integers(0, (1 << bits) - 1) for name, bits in WIDTHS.items()})


def as_json(expression: Expression) -> Json:
    if isinstance(expression, str):
        return field("head", expression)
    if isinstance(expression, int):
        return number(expression)
    op, *operands = expression
    *left, right = map(as_json, operands)
    node = {"op": op, "left": left[0] if left else None, "right": right}
    wrapped = {"type": "expression", "value": node}
    return (
        {"type": "expression", "value": {"op": "b2d", "left": None, "right": wrapped}}
        if boolean(op)
        else wrapped
    )


def boolean(op: str) -> bool:
    """Return whether the operator gives a Boolean, which an assignment takes as a number."""
    return op[0] in "=!<>" and op not in ("<<", ">>")


def value_of(expression: Expression, fields: dict[str, int]) -> int:
    if isinstance(expression, str):
        return fields[expression]
    if isinstance(expression, int):
        return expression
    op, *operands = expression
    numbers = [value_of(operand, fields) for operand in operands]
    if op == "~":
        return ~numbers[0]
    if op in ("<<", ">>"):
        return numbers[0] << numbers[1] if op == "<<" else numbers[0] >> numbers[1]
    return int(BINARY[op](numbers[0], numbers[1]))


def primitives(sequence: list[Expression]) -> list[Json]:
    calls = []
    for at, (target, expression) in enumerate(sequence):
        if isinstance(target, str):
            calls.append(call("assign", field("head", target), as_json(expression)))
        else:
            to = min(at + 1 + target, len(sequence))
            calls.append(call("_jump_if_zero", as_json(expression), number(to)))
    return calls


def run(sequence: list[Expression], fields: dict[str, int]) -> dict[str, int]:
    fields = dict(fields)
    at = 0
    while at < len(sequence):
        target, expression = sequence[at]
        result = value_of(expression, fields)
        at += 1
        if isinstance(target, str):
            fields[target] = result & ((1 << WIDTHS[target]) - 1)
        elif result == 0:
            at += target
    return fields


def packed(fields: dict[str, int]) -> bytes:
    whole = 0x18  # of the first byte: port 3, VL 0
    for name, bits in WIDTHS.items():
        whole = whole << bits | fields[name]
    return whole.to_bytes(1 + sum(WIDTHS.values()) // 8)


@settings(deadline=None)
@given(steps, values)
def test_actions_compute_with_unbounded_integers(sequence: list[Expression], fields: dict[str, int]) -> None:
    program = wire()
    header_type(program, "head_t")["fields"] += [[name, bits, False] for name, bits in WIDTHS.items()]
    run_in(program, "ingress", *primitives(sequence))
    network, switch = loaded(program)
    ((_, frame),) = network.process(switch, 0, packed(fields) + b"x")
    assert frame == packed(run(sequence, fields)) + b"x"
