# SPDX-License-Identifier: Apache-2.0
"""Importers of MSCCL algorithms and MSCCL++ execution plans; symbolic execution checks their results.

algorithm   read MSCCL's XML
graph       convert an algorithm to a traffic graph
write       convert an AllReduce or all-gather of Railyard to MSCCL's XML
plan        read MSCCL++'s execution plans (JSON)
plan_graph  convert a plan to a traffic graph
plan_switch convert a plan with reductions in a switch to a collective
plan_moves  data movements of a plan's operations
symbols     symbolic memory of GPUs, and the expected results of collectives
"""
