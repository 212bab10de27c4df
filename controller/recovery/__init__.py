# SPDX-License-Identifier: Apache-2.0
"""State machines to detect failures and repair a node's tables, without clock or socket.

    node_controller    reaction of one node to a failed or returned link
    messages           notices and subscriptions between node controllers, and their order
    announcements      notices of one node, for schemes whose every node must know each failure
    delivery           repeats messages until they are acknowledged; imported by its name
    shared_schemes     forwarding schemes over working links, shared by the controllers of a plan
    hello              detects a link that fails with its carrier up; imported by its name
    lacp               bundles the two ports of a NIC; imported by its name
    spare              spares that replace lost nodes, and the plan with the spares as members
    unreachable        pairs of nodes separated by failures, and a sentence to name the pairs
    notification       spread of news about a failed link, without data

The forwarding scheme chooses the paths that replace a failed path.
"""
