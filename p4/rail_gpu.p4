// SPDX-License-Identifier: Apache-2.0
// A GPU of a high-bandwidth domain with its NIC: an NPU's controls, and PXN where no instruction decides (Rail-only).
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/deparser.p4"
#include "control/intake.p4"
#include "control/grow_length.p4"
#include "control/shrink_length.p4"
#include "control/all_path.p4"
#include "control/source_route.p4"
#include "control/pxn.p4"
#include "control/linear_route.p4"
#include "control/vl_turn.p4"
#include "control/deliver.p4"
#include "control/slow_protocol.p4"
#include "control/counters.p4"
#include "control/egress.p4"

control UbIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Intake() intake;
    AllPath() all_path;
    SourceRoute() source_route;
    Pxn() pxn;
    LinearRoute() linear_route;
    VlTurn() vl_turn;
    Deliver() deliver;
    SlowProtocol() slow_protocol;
    Refuse() refuse;

    apply {
        intake.apply(hdr, meta, std);
        if (meta.reason == drop_reason_t.NONE && meta.routed) {
            if (meta.from_host && !hdr.srh.isValid()) {
                all_path.apply(hdr, meta);
            }
            if (meta.reason == drop_reason_t.NONE) {
                source_route.apply(hdr, meta);
            }
            if (meta.reason == drop_reason_t.NONE && !meta.decided) {
                pxn.apply(hdr, meta);
                if (!meta.decided) {
                    linear_route.apply(hdr, meta);
                }
            }
        }
        if (meta.reason == drop_reason_t.NONE) {
            vl_turn.apply(hdr, meta);
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
