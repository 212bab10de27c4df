// SPDX-License-Identifier: Apache-2.0
// A type that controllers know with another width than the program: in packet-ins, packet-outs, digests, keys, parameters
// and registers. Frames from the CPU port go where their header says, all others to the CPU port. The compiler renames the
// fields of packet_out's header, since a struct is among them: the p4info and the program have different names.
#include <core.p4>
#include <v1model.p4>

#define CPU_PORT 510

@p4runtime_translation("", 32)
type bit<9> port_t;

@controller_header("packet_in")
header packet_in_t {
    port_t port;
    bit<7> pad;
}

struct tag_t {
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    port_t port;
    tag_t tag;
}

struct headers_t {
    packet_in_t to_cpu;
    packet_out_t from_cpu;
}

struct metadata_t { }

struct arrived_t {
    port_t port;
    bit<16> length;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: outward;
            default: accept;
        }
    }
    state outward {
        packet.extract(hdr.from_cpu);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<port_t>(1) last;
    action send(port_t port) {
        std.egress_spec = (bit<9>)port;
    }
    @name("redirect")
    table redirect {
        key = { (port_t)std.ingress_port: exact @name("port"); }
        actions = { send; NoAction; }
        default_action = NoAction();
        size = 32;
    }
    @name("failed")
    table failed { // an error has no width in the p4info
        key = { std.parser_error: exact @name("error"); }
        actions = { send; NoAction; }
        default_action = NoAction();
        size = 8;
    }
    apply {
        if (hdr.from_cpu.isValid()) {
            std.egress_spec = (bit<9>)hdr.from_cpu.port;
            hdr.from_cpu.setInvalid();
        } else if (!redirect.apply().hit && !failed.apply().hit) {
            last.write(0, (port_t)std.ingress_port);
            digest<arrived_t>(1, { (port_t)std.ingress_port, (bit<16>)std.packet_length });
            hdr.to_cpu = { (port_t)std.ingress_port, 0 };
            std.egress_spec = CPU_PORT;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.to_cpu);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
