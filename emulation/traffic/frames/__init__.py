# SPDX-License-Identifier: Apache-2.0
"""Headers of every frame on a link.

values      values of fields: service levels, VLs, opcodes, lengths
layers      the headers as Scapy layers: the definition of the wire format
wire        headers of an agent's frames as bytes, and their fixed sizes
ip          IPv4 port of a host: carries IPv4 packets in UB frames, and answers ARP requests
dissector   a Wireshark dissector in Lua, generated from the layers
"""
