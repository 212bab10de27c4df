// SPDX-License-Identifier: Apache-2.0
// A packet switch between GPUs and their NICs, of up to 256 ports: rail or leaf, spine, core, or the switch inside a
// high-bandwidth domain (Rail-only). A source route's instruction, of eight bits, names the first 255.
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/route_size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/deparser.p4"
#include "control/route/rail.p4"
#include "control/route/source_route.p4"
#include "control/route/multipath_route.p4"

const bool HAS_HOST = false;
const bool HAS_LACP = true;

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Rail() rail;
    SourceRoute() source_route;
    MultipathRoute() multipath_route;

    apply {
        rail.apply(hdr, meta, std);
        source_route.apply(hdr, meta, std);
        if (!meta.decided) {
            multipath_route.apply(hdr, meta, std);
        }
    }
}

#include "control/ingress.p4"
#include "control/egress.p4"

V1Switch(UbParser(), NoChecksum(), UbIngress(), UbEgress(), NoChecksum(), UbDeparser()) main;
