// SPDX-License-Identifier: Apache-2.0
// A low-radix switch, UB x72: the planes of a rack's backplane, towards its NPUs, its other racks, and its CPUs and
// spare (UB-Mesh, rack).
#include <core.p4>
#include <v1model.p4>

#include "include/size.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/deparser.p4"
#include "control/switch_ingress.p4"
#include "control/egress.p4"

V1Switch(UbParser(), NoChecksum(), UbIngress(), UbEgress(), NoChecksum(), UbDeparser()) main;
