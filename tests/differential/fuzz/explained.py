# SPDX-License-Identifier: Apache-2.0
"""Differences between the engine and BMv2 that are known, each with its reason.

All are of P4Runtime, where PI, BMv2's server, is more lenient or less precise than the specification.
"""

import re

__all__ = ["explanation"]

_REASONS = (
    (r"(INSERT|MODIFY).*engine RESOURCE_EXHAUSTED, BMv2 UNKNOWN", "PI has no code for a full table"),
    (
        r"too wide: .*engine OUT_OF_RANGE, BMv2 INVALID_ARGUMENT",
        "the specification wants OUT_OF_RANGE for a value that does not fit",
    ),
    (r"empty value: .*engine (OUT_OF_RANGE|INVALID_ARGUMENT), BMv2", "PI takes an empty value for 0"),
    (r"priority -\d+: .*engine INVALID_ARGUMENT, BMv2", "PI does not look at the sign of a priority"),
    (r"priority \d+: .*engine INVALID_ARGUMENT, BMv2", "PI ignores the priority where none is allowed"),
    (r"is_const: .*engine INVALID_ARGUMENT, BMv2", "PI ignores is_const, which a client must not set"),
    (
        r"no action: (indirect )?MODIFY: engine OK, BMv2 INVALID_ARGUMENT",
        "the engine keeps the action of an entry whose MODIFY names none",
    ),
    (
        r"constant table.*engine PERMISSION_DENIED, BMv2 \w+(?<!OK)$",
        "PI takes a constant table for a full one, or one without the entry",
    ),
    (
        r"(unknown parameter|parameter given twice): .*engine INVALID_ARGUMENT, BMv2 OK",
        "PI counts the parameters, and takes one given twice for two",
    ),
    (
        r"valid: indirect .*engine NOT_FOUND, BMv2 (INVALID_ARGUMENT|UNKNOWN)",
        "PI has no code of its own for an entry that points to a member or group there is not",
    ),
    (
        r"indirect .*engine INVALID_ARGUMENT, BMv2 RESOURCE_EXHAUSTED",
        "the specification wants INVALID_ARGUMENT for a set of actions larger than max_group_size",
    ),
    (
        r"(indirect|action_profile_member) .*engine RESOURCE_EXHAUSTED, BMv2 ",
        "PI does not hold an action profile to its size",
    ),
    (r"indirect .*engine OK, BMv2 UNKNOWN", "BMv2 takes no entry that points to a group without members"),
    (
        r"action_profile_\w+ DELETE: engine FAILED_PRECONDITION, BMv2 UNKNOWN",
        "PI has no code for the deletion of what is in use",
    ),
    (
        r"indirect MODIFY default: engine PERMISSION_DENIED, BMv2 INVALID_ARGUMENT",
        "PI has no code of its own for a default entry that is constant, as with an action profile",
    ),
    (r"write, id 0: .*engine INVALID_ARGUMENT, BMv2", "PI takes 0 for the id of a member like any other"),
    # What is wrong in two ways, or in a way that has no code of its own.
    (r"write, (?!valid).*: engine (?!OK)\w+, BMv2 (?!OK)\w+$", "both refuse it, for another reason"),
)


def explanation(kind: str) -> str:
    """Return the reason why a kind of difference is to be expected; empty without a reason."""
    return next((reason for pattern, reason in _REASONS if re.search(pattern, kind)), "")
