# SPDX-License-Identifier: Apache-2.0
"""Collective of a scenario: who takes part, what each sends when, and the least time it can take.

grids         members of a collective, the grid that they form, the rates between them
schedule      a scenario's collective -> its schedule
connections   connections by pair of ranks, as values of lb
bounds        lower bound of a collective's time
graph_bounds  lower bounds on any graph: cuts, hops of traffic, maximum concurrent flow
"""
