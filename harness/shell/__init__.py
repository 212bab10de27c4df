# SPDX-License-Identifier: Apache-2.0
"""Verbs of a person on the command line of a Mininet fabric that stays.

Its modules:

    verbs      cut, restore, craft, path, pingall, counters and capture, as lines of text
    arguments  what a person types behind a verb: nodes, links, a frame; and its completion
    probe      frames sent from hosts, and every place where they are seen
"""
