// SPDX-License-Identifier: Apache-2.0
// A UB switch: low-radix (LRS, x72) in the planes of a rack, or high-radix (HRS, x512) above the racks (UB-Mesh, rack
// and SuperPod). They differ in their number of ports alone; an instruction of eight bits names any of them.
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/route_size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/deparser.p4"
#include "control/route/source_route.p4"
#include "control/route/linear_route.p4"

const bool HAS_HOST = false;
const bool HAS_LACP = false;

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    SourceRoute() source_route;
    LinearRoute() linear_route;

    apply {
        source_route.apply(hdr, meta, std);
        if (!meta.decided) {
            linear_route.apply(hdr, meta, std);
        }
    }
}

#include "control/ingress.p4"
#include "control/egress.p4"

V1Switch(UbParser(), NoChecksum(), UbIngress(), UbEgress(), NoChecksum(), UbDeparser()) main;
