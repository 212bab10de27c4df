# SPDX-License-Identifier: Apache-2.0
"""Turn rules, virtual lanes, and the channel dependency graph to prove a plan free of deadlock.

turn_rules        turns that a frame may take, and the VL on which it leaves
stages            rules of fabrics with dimensions and tiers
ranks             rules of any graph, by ranks of its nodes
channels          numbers of channels (a VL of a link direction), and the turns between them
dependency_graph  which channel waits for which, and a cycle if there is one
node_turns        search of a whole fabric for a cycle of permitted turns, by hop directions at each node
tfc               paths that a rule set admits on a fabric, by class and length; import it by its name
"""
