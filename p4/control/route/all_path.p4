// SPDX-License-Identifier: Apache-2.0
// The source's half of All-Path-Routing (UB-Mesh, All-Path-Routing): destination and path bucket choose a source route.
#ifndef ALL_PATH_P4
#define ALL_PATH_P4

#include "../grow_length.p4"

control AllPath(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    GrowLength() grow;

    action push_route(bit<12> bitmap, bit<48> instr) {
        hdr.srh.setValid();
        hdr.srh.ptr = 0;
        hdr.srh.bitmap = bitmap;
        hdr.srh.instr = instr;
        hdr.lph.cfg = CFG_SOURCE_ROUTE;
    }
    @name("all_path")
    table all_path {
        key = {
            hdr.nth.dcna: exact @name("dcna");
            meta.bucket: exact @name("bucket");
        }
        actions = { push_route; NoAction; }
        const default_action = NoAction();
        size = ALL_PATH_SIZE;
    }

    apply {
        meta.bucket = hdr.nth.lb[3:0];
        if (all_path.apply().hit) {
            grow.apply(hdr.lph, std);
        }
    }
}

#endif
