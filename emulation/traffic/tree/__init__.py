# SPDX-License-Identifier: Apache-2.0
"""Collectives that switches carry out: members send blocks of values up trees of switches, sans-IO.

wire     frames with a reduction header, written and read
work     blocks of a collective, and the members that send and receive their values
numbers  integers and floats as switches combine them
spec     descriptions of members, the NPUs that take part
member   agents of members in C++, made from descriptions
"""
