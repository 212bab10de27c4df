# SPDX-License-Identifier: Apache-2.0
"""Read and write Chakra execution traces of MLCommons.

node        nodes of a trace
trace       read traces in protobuf
esi         read traces in ESI's JSON
graph       convert the traces of all ranks to a traffic graph
write       convert traffic graphs to traces
run         convert the jobs of a variant to traces
data_order  data dependencies between the operations of a graph
"""
