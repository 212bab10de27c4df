// SPDX-License-Identifier: Apache-2.0
// A packet switch between GPUs and their NICs, of up to 256 ports: rail or leaf, spine, core, or the switch inside a
// high-bandwidth domain (Rail-only). A source route's instruction, of eight bits, names the first 255.
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/deparser.p4"
#include "control/intake.p4"
#include "control/shrink_length.p4"
#include "control/rail.p4"
#include "control/source_route.p4"
#include "control/multipath_route.p4"
#include "control/vl_turn.p4"
#include "control/no_host.p4"
#include "control/deliver.p4"
#include "control/slow_protocol.p4"
#include "control/counters.p4"
#include "control/egress.p4"

control UbIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Intake() intake;
    Rail() rail;
    SourceRoute() source_route;
    MultipathRoute() multipath_route;
    VlTurn() vl_turn;
    NoHost() no_host;
    Deliver() deliver;
    SlowProtocol() slow_protocol;
    Refuse() refuse;

    apply {
        intake.apply(hdr, meta, std);
        if (meta.reason == drop_reason_t.NONE && meta.routed) {
            rail.apply(hdr, meta);
            if (meta.reason == drop_reason_t.NONE) {
                source_route.apply(hdr, meta);
            }
            if (meta.reason == drop_reason_t.NONE && !meta.decided) {
                multipath_route.apply(hdr, meta);
            }
        }
        if (meta.reason == drop_reason_t.NONE) {
            vl_turn.apply(hdr, meta);
        }
        if (meta.reason == drop_reason_t.NONE) {
            no_host.apply(hdr, meta);
        }
        if (meta.reason == drop_reason_t.NONE) {
            deliver.apply(hdr, meta, std);
        }
        if (meta.reason == drop_reason_t.ETHERTYPE && hdr.ethernet.type == ETHERTYPE_SLOW) {
            slow_protocol.apply(hdr, std);
        } else if (meta.reason != drop_reason_t.NONE) {
            refuse.apply(meta, std);
        }
    }
}

V1Switch(UbParser(), NoChecksum(), UbIngress(), UbEgress(), NoChecksum(), UbDeparser()) main;
