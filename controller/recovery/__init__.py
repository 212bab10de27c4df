# SPDX-License-Identifier: Apache-2.0
"""State machines that notice failures and repair a node's tables; they hold no clock and no socket.

    node_controller    reaction of one node to a failed or returned link
    messages           notices and subscriptions between node controllers, and their order
    announcements      notices of one node where every node is told of each failure
    delivery           repeats messages until they are acknowledged; imported by its name
    shared_schemes     forwarding schemes over the links that work, shared by the controllers of a plan
    hello              detects a link that fails with its carrier up; imported by its name
    lacp               bundles the two ports of a NIC; imported by its name
    spare              spares that replace lost nodes, and the plan that makes them do so
    unreachable        pairs that failures have separated, and a sentence about them
    notification       spread of news about a failed link, without data

Which paths replace a failed path is for the forwarding scheme to say.
"""
