# SPDX-License-Identifier: Apache-2.0
"""Collectives that switches carry out: members send blocks of values up trees of switches, sans-IO.

wire     frames with a reduction header, written and read
work     blocks of a collective: which member sends values, and which gets them
numbers  integers and floats as switches combine them
spec     descriptions of members
member   the agents of NPUs, made from descriptions
"""
