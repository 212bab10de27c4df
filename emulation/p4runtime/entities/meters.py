# SPDX-License-Identifier: Apache-2.0
"""Meter configurations: P4Runtime's MeterConfig and the engine's (cir, cburst, pir, pburst)."""

from finsy.proto import p4i, p4r, rpc_code

from emulation.p4runtime.layout import MeterLayout
from emulation.p4runtime.status import Refusal

__all__ = ["Rates", "message_of", "rates_of", "refuse_color_counts"]

Rates = tuple[int, int, int, int]
"""Committed rate and burst, peak rate and burst, in units a second and units; units are packets or bytes."""


def rates_of(meter: MeterLayout, config: p4r.MeterConfig) -> Rates:
    """Checked against the meter's type. The engine has two rates, which serve all but excess bursts."""
    what = f"meter {meter.name!r}"
    rates = (config.cir, config.cburst, config.pir, config.pburst)
    if min(*rates, config.eburst) < 0:
        raise Refusal(rpc_code.INVALID_ARGUMENT, f"{what}: a rate or a burst below 0")
    if meter.type == p4i.MeterSpec.TWO_RATE_THREE_COLOR:
        if config.cir > config.pir:
            raise Refusal(rpc_code.INVALID_ARGUMENT, f"{what}: cir {config.cir} is above pir {config.pir}")
    elif rates[:2] != rates[2:]:
        raise Refusal(rpc_code.INVALID_ARGUMENT, f"{what} has one rate: pir, pburst must be cir, cburst")
    if config.eburst:
        if meter.type == p4i.MeterSpec.SINGLE_RATE_THREE_COLOR:
            raise Refusal(rpc_code.UNIMPLEMENTED, f"{what}: excess bursts are not supported")
        raise Refusal(rpc_code.INVALID_ARGUMENT, f"{what}: eburst {config.eburst}, but its type has none")
    return rates


def message_of(rates: Rates) -> p4r.MeterConfig:
    """What a Read returns."""
    cir, cburst, pir, pburst = rates
    return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


def refuse_color_counts(meter: MeterLayout) -> Refusal:
    """For requests that carry a MeterCounterData."""
    return Refusal(rpc_code.UNIMPLEMENTED, f"meter {meter.name!r}: counters by colour are not supported")
