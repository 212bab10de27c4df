// SPDX-License-Identifier: Apache-2.0
// Ingress of the UB switches, low-radix and high-radix: an NPU's without the source's half of routing and without a
// host. The name is that of an NPU's ingress, so tables and counters have the same full names in every program.
#ifndef SWITCH_INGRESS_P4
#define SWITCH_INGRESS_P4

#include "intake.p4"
#include "shrink_length.p4"
#include "linear_route.p4"
#include "source_route.p4"
#include "vl_turn.p4"
#include "no_host.p4"
#include "deliver.p4"
#include "counters.p4"

control UbIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Intake() intake;
    SourceRoute() source_route;
    LinearRoute() linear_route;
    VlTurn() vl_turn;
    NoHost() no_host;
    Deliver() deliver;
    Refuse() refuse;

    apply {
        intake.apply(hdr, meta, std);
        if (meta.reason == drop_reason_t.NONE && meta.routed) {
            source_route.apply(hdr, meta);
            if (meta.reason == drop_reason_t.NONE && !meta.decided) {
                linear_route.apply(hdr, meta);
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
        if (meta.reason != drop_reason_t.NONE) {
            refuse.apply(meta, std);
        }
    }
}

#endif
