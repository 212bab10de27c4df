// SPDX-License-Identifier: Apache-2.0
// Ingress of every UB program. A program defines before it includes this file:
//   Route       the control that decides the egress port, by source route, by tables, or both
//   HAS_HOST    whether frames may end at the node, behind port 0
//   HAS_LACP    whether ports are bundled, so that LACPDUs go to the controller
// Switches of programs that define REDUCE combine the values of their children in a tree.
#ifndef INGRESS_P4
#define INGRESS_P4

#include "refuse.p4"
#include "ingress_validation.p4"
#include "vl_turn.p4"
#include "deliver.p4"
#include "slow_protocol.p4"
#ifdef REDUCE
#include "reduce/reduce.p4"
#endif

control UbIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    SlowProtocol() slow_protocol;
    IngressValidation() ingress_validation;
    Route() route;
    VlTurn() vl_turn;
    Deliver(HAS_HOST) deliver;
#ifdef REDUCE
    Reduce() reduce;
#endif

    apply {
        if (HAS_LACP && hdr.ethernet.isValid() && hdr.ethernet.type == ETHERTYPE_SLOW) {
            slow_protocol.apply(hdr, std);
            return;
        }
        ingress_validation.apply(hdr, meta, std);
#ifdef REDUCE
        if (meta.routed && hdr.reduction.isValid()) {
            reduce.apply(hdr, std);
            return;
        }
#endif
        if (meta.routed) {
            route.apply(hdr, meta, std);
        }
        vl_turn.apply(hdr, meta, std);
        deliver.apply(hdr, meta, std);
    }
}

#endif
