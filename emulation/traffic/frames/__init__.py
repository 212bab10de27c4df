# SPDX-License-Identifier: Apache-2.0
"""Headers of every frame that a link carries.

values      values of fields: service levels, VLs, opcodes, lengths
layers      the headers as Scapy layers: the definition of the wire format
wire        headers of an agent's frames as bytes, and their fixed sizes
ip          an IPv4 port: packets of programs as the payload of UB frames, ARP answered
dissector   a Wireshark dissector in Lua, generated from the layers
"""
