// SPDX-License-Identifier: Apache-2.0
// Topology scan of a UB node, switch or NPU, before it has an address or a route: it forwards management frames by the
// path that they carry, and answers those whose path ends here. The controller at one node discovers the fabric by it.
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/scan.p4"
#include "control/refuse.p4"
#include "control/scan/answer.p4"

control ScanIngress(inout scan_headers_t hdr, inout scan_metadata_t meta, inout standard_metadata_t std) {
    Answer() answer;

    action leave(port_t egress_port) {
        meta.egress_port = egress_port;
    }
    action no_port() {
        REFUSE(NO_PORT);
    }
    @name("port")
    table port {
        key = { meta.egress_port: exact @name("port"); }
        actions = { leave; @defaultonly no_port; }
        const default_action = no_port();
        size = PORT_SIZE;
    }

    apply {
        if (std.parser_error != error.NoError) {
            REFUSE(TRUNCATED);
        }
        if (!hdr.lph.isValid()) {
            REFUSE(ETHERTYPE);
        }
        if (!hdr.pdu.isValid()) {
            REFUSE(CFG);
        }
        if (hdr.scan.step > hdr.scan.hops) {
            REFUSE(HOPS);
        }
        hdr.packet_out.setInvalid();
        hdr.lph.vl = VL_RESPONSE;
        std.priority = PRIORITY_RESPONSE;
        if (hdr.scan.step < hdr.scan.hops) {
            bit<32> next = (hdr.current.hops >> meta.shift) & meta.mask;
            if (next > 511) {
                REFUSE(NO_PORT);
            }
            meta.egress_port = (port_t)next;
            port.apply();
            hdr.scan.step = hdr.scan.step + 1;
        } else if (hdr.pdu.opcode == OPCODE_RESPONSE) {
            meta.egress_port = CPU_PORT;
        } else {
            answer.apply(hdr, meta, std);
        }
        std.egress_spec = meta.egress_port;
    }
}

control ScanEgress(inout scan_headers_t hdr, inout scan_metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
            hdr.packet_in.pad = 0;
        }
    }
}

V1Switch(ScanParser(), NoChecksum(), ScanIngress(), ScanEgress(), NoChecksum(), ScanDeparser()) main;
