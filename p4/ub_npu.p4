// SPDX-License-Identifier: Apache-2.0
// The UB controller of an NPU: source, transit router and sink in one (UB-Mesh: NPUs that route).
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/route_size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/deparser.p4"
#include "control/route/all_path.p4"
#include "control/route/source_route.p4"
#include "control/route/linear_route.p4"

const bool HAS_HOST = true;
const bool HAS_LACP = false;

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    AllPath() all_path;
    SourceRoute() source_route;
    LinearRoute() linear_route;

    apply {
        if (meta.from_host && !hdr.srh.isValid()) {
            all_path.apply(hdr, meta, std);
        }
        source_route.apply(hdr, meta, std);
        if (!meta.decided) {
            linear_route.apply(hdr, meta, std);
        }
    }
}

#include "control/ingress.p4"
#include "control/egress.p4"

V1Switch(UbParser(), NoChecksum(), UbIngress(), UbEgress(), NoChecksum(), UbDeparser()) main;
