// SPDX-License-Identifier: Apache-2.0
// A high-radix switch, UB x512: joins the pods of a SuperPod by 128 ports of four lanes, 1 to 128 (UB-Mesh, SuperPod).
// An instruction of eight bits names any of them.
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
