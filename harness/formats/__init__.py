# SPDX-License-Identifier: Apache-2.0
"""Import traffic, fabrics and faults from files of other tools as scenarios; each format has its own module.

registry      formats by name
detection     find the format of a file
imported      result of an import: a fabric, a traffic graph, faults, notes
written       write an import as the files of a scenario
text          read text files: lines, numbers and units; errors with file and line
documents     read JSON files; errors with file and line
files         refuse paths outside a folder; unpack gzip files up to a size limit
collectives   operations of a collective inside a traffic graph
chakra/       Chakra's execution traces
msccl/        algorithms of MSCCL, execution plans of MSCCL++
goal          GOAL of LogGOPSim and ATLAHS
htsim_traffic  connection matrices of htsim
ns3_ub        case folders of ns-3-UB
simai         workloads of SimAI
p4lang_exercise  exercises of the P4 language project's tutorials
"""
