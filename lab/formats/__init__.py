# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: their traffic, fabrics and faults as scenarios. A format is a file here.

registry      formats by name
imported      what files become: a fabric, a traffic graph, faults, notes
written       the same as files of a scenario
text          lines of text files, numbers and units; errors with file and line
chakra        nodes of Chakra's execution traces
chakra_graph  traces of all ranks as a traffic graph
collectives   a collective inside a traffic graph
goal          GOAL of LogGOPSim and ATLAHS
htsim         connection matrices of htsim
msccl         algorithms of MSCCL, as XML
msccl_graph   an algorithm of MSCCL as a traffic graph, its result proved
msccl_write   an AllReduce of ours as an algorithm of MSCCL
ns3_ub        case folders of ns-3-UB
simai         workloads of SimAI
"""
