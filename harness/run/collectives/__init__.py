# SPDX-License-Identifier: Apache-2.0
"""Collectives of a scenario on a fabric: members, schedules, connections, lower bounds of the time.

grids         members of a collective, the grid that they form, the rates between them
schedule      schedule of a scenario's collective
connections   paths and connections by pair of ranks
bounds        lower bounds of a collective's time
graph_bounds  lower bounds on any graph: cuts, hops of traffic, maximum concurrent flow
"""
