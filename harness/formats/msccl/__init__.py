# SPDX-License-Identifier: Apache-2.0
"""Algorithms of MSCCL and execution plans of MSCCL++, proved on symbols.

algorithm   MSCCL's XML
graph       an algorithm as a traffic graph
write       an AllReduce of ours as an algorithm
plan        MSCCL++'s execution plans, JSON
plan_graph  a plan as a traffic graph
plan_switch a plan whose switch adds up, as a collective
plan_moves  moves of data that an operation of a plan makes
symbols     memory of GPUs on symbols, and the results of collectives
"""
