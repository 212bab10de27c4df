# SPDX-License-Identifier: Apache-2.0
"""Missing kernel features are named with their option and source."""

from types import MappingProxyType

import pytest

from emulation.errors import TestbedError
from emulation.linux import kernel
from emulation.linux.kernel import CLS_BPF, FEATURES, MIRRED, NETEM, TBF, need
from emulation.linux.netlink import Refusal, RouteSocket
from tests.emulation.mininet.benches import no_rights

reason = no_rights()
needs_rights = pytest.mark.skipif(bool(reason), reason=reason)


def test_a_missing_feature_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = MappingProxyType({NETEM: "netem: No such file or directory", TBF: "tbf: gone"})
    monkeypatch.setattr(kernel, "missing", lambda: lacking)
    need(CLS_BPF, MIRRED)
    with pytest.raises(TestbedError) as told:
        need(TBF, CLS_BPF, NETEM)
    for part in (
        "sch_netem", "CONFIG_NET_SCH_NETEM", "delay of a link", "sch_tbf", "modprobe -a sch_tbf sch_netem",
        "linux-modules-extra-",
    ):  # fmt: skip
        assert part in str(told.value)


@needs_rights
def test_what_this_kernel_misses_can_be_told() -> None:
    kernel.missing.cache_clear()
    assert set(kernel.missing()) <= set(FEATURES)
    assert kernel.missing() is kernel.missing()


@needs_rights
def test_a_feature_without_what_it_stands_on(monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = RouteSocket.attempt

    def without_filters(self: RouteSocket, requests: list) -> list[Refusal]:
        if requests[0].what == "clsact":
            return [Refusal("clsact", 2, "Specified qdisc kind is unknown")]
        return attempt(self, requests)

    monkeypatch.setattr(RouteSocket, "attempt", without_filters)
    kernel.missing.cache_clear()
    try:
        result = kernel.missing()
        assert result[kernel.CLSACT] == "clsact: No such file or directory (Specified qdisc kind is unknown)"
        assert result[CLS_BPF] == result[MIRRED] == "cannot be tried without sch_ingress"
        assert TBF not in result or "clsact" not in result[TBF]
    finally:
        kernel.missing.cache_clear()
