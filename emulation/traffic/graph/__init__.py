# SPDX-License-Identifier: Apache-2.0
"""Traffic as a graph: sends, receives, computations and local copies that wait for each other.

operations   operations and the graph that they form, as frozen values, with all checks
document     the JSON form of a graph; graph.schema.json describes it
order        the order in which operations take effect
memory       position of each operation's data in the arrays of the members
levels       cells of the arrays, and the steps in which operations read and change them
lowering     a graph as slices and tasks, which the agents of collectives carry out
truth        expected arrays at the end of a graph, by plain arithmetic
of_schedule  the graph of a collective's schedule
bounds       lower bounds of a graph's time
"""
