# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables of the P4 programs, made from segments of addresses, routes and turn rules.

actions          actions of the P4 programs, each declared once
segments/        next hops of addresses, by kind of node
groups           groups of equal next hops, and the bits of the hash that select a member
address_entries  entries of the tables that map addresses to egress ports
source_routes    entries of the table all_path
turns            entries of the tables arrival, departure and vl_turn
congestion       entries of the table congestion: queue depths at which frames are marked
"""
