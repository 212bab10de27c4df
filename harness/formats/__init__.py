# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: their traffic, fabrics and faults as scenarios. A format is a file here.

registry      formats by name
detection     the format of a file
imported      what files become: a fabric, a traffic graph, faults, notes
written       the same as files of a scenario
text          lines of text files, numbers and units; errors with file and line
documents     JSON files, the same errors
files         files inside of a folder, gzip within bounds
collectives   a collective inside a traffic graph
chakra/       Chakra's execution traces
msccl/        algorithms of MSCCL, execution plans of MSCCL++
goal          GOAL of LogGOPSim and ATLAHS
htsim_traffic  connection matrices of htsim
ns3_ub        case folders of ns-3-UB
simai         workloads of SimAI
p4lang_exercise  exercises of the P4 language project's tutorials
"""
