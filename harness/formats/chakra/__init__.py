# SPDX-License-Identifier: Apache-2.0
"""Chakra execution traces of MLCommons, read and written.

node        nodes of a trace
trace       traces in protobuf
esi         traces in ESI's JSON
graph       traces of all ranks as a traffic graph
write       traffic graphs as traces
run         jobs of a variant as traces
data_order  operations that wait for each other because of data
"""
