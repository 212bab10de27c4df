// SPDX-License-Identifier: Apache-2.0
// Frames of slow protocols, of which LACP is one (IEEE 802.3, annex 57A): never forwarded, from a port to the
// controller and from the controller to a port.
#ifndef SLOW_PROTOCOL_P4
#define SLOW_PROTOCOL_P4

const bit<16> ETHERTYPE_SLOW = 0x8809;

control SlowProtocol(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        std.egress_spec = CPU_PORT;
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        }
        std.priority = PRIORITY_RESPONSE;
    }
}

#endif
