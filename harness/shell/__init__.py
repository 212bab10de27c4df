# SPDX-License-Identifier: Apache-2.0
"""Additional commands for the Mininet command line of a running fabric.

Modules:

    verbs      the commands cut, restore, craft, path, pingall, counters and capture
    arguments  parse the words after a command: nodes, links, a frame; complete them
    probe      send frames from hosts, and record each time a frame is seen on a link
"""
