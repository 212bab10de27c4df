# SPDX-License-Identifier: Apache-2.0
"""LACPDUs as frames of Ethernet type 0x8809, and back (IEEE 802.1AX)."""

from functools import lru_cache

from scapy.contrib.lacp import LACP
from scapy.contrib.slowprot import SlowProtocol
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from controller.recovery.lacp import Lacpdu, Member, State

__all__ = ["SLOW_ETHERTYPE", "is_slow", "lacpdu_frame", "read_lacpdu"]

SLOW_ETHERTYPE = 0x8809

# Where slow protocols are sent: to the other end of the link, and no farther.
_GROUP = "01:80:c2:00:00:02"
_LACP = 1
_VERSION = 1


def is_slow(frame: bytes) -> bool:
    """Whether a frame is of a slow protocol."""
    return frame[12:14] == SLOW_ETHERTYPE.to_bytes(2)


@lru_cache(maxsize=1 << 14)
def lacpdu_frame(pdu: Lacpdu, source: str) -> bytes:
    """The frame that carries an LACPDU from the MAC address `source`."""
    actor, partner = pdu.actor, pdu.partner
    says: Packet = LACP(
        version=_VERSION,
        actor_system=actor.system,
        actor_key=actor.key,
        actor_port_number=actor.port,
        actor_state=int(actor.state),
        partner_system=partner.system,
        partner_key=partner.key,
        partner_port_number=partner.port,
        partner_state=int(partner.state),
    )
    return bytes(Ether(src=source, dst=_GROUP, type=SLOW_ETHERTYPE) / SlowProtocol(subtype=_LACP) / says)


@lru_cache(maxsize=1 << 14)
def read_lacpdu(frame: bytes) -> Lacpdu | None:
    """What an LACPDU says; None when the frame is none."""
    layer: Packet | None = Ether(frame).getlayer(LACP)
    if layer is None or layer.version != _VERSION:
        return None
    actor = Member(layer.actor_system, layer.actor_key, layer.actor_port_number, State(layer.actor_state))
    partner = Member(
        layer.partner_system, layer.partner_key, layer.partner_port_number, State(layer.partner_state)
    )
    return Lacpdu(actor, partner)
