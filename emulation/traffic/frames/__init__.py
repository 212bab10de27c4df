# SPDX-License-Identifier: Apache-2.0
"""Headers of every frame that a link carries.

values      values of fields: service levels, VLs, opcodes, lengths
layers      the headers as Scapy layers: the definition of the wire format
wire        a fast codec of the same bytes, for agents
dissector   a Wireshark dissector in Lua, generated from the layers
"""
