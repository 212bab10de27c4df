// SPDX-License-Identifier: Apache-2.0
// A switch has no side of its own behind port 0: of what ends here only management has somebody to go to, the
// controller.
#ifndef NO_HOST_P4
#define NO_HOST_P4

control NoHost(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.out_group == GROUP_LOCAL && hdr.nth.mgmt == 0) {
            meta.reason = drop_reason_t.NO_HOST;
        }
    }
}

#endif
