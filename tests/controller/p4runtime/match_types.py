# SPDX-License-Identifier: Apache-2.0
"""The type of a match field in a p4info, by the kind of its matches."""

from typing import Any

from finsy.proto import p4i

from controller.plan.entry import Exact, Lpm, Match, Optional, Range, Ternary

MATCH_TYPES: dict[type[Match], Any] = {
    Exact: p4i.MatchField.EXACT,
    Lpm: p4i.MatchField.LPM,
    Ternary: p4i.MatchField.TERNARY,
    Range: p4i.MatchField.RANGE,
    Optional: p4i.MatchField.OPTIONAL,
}
