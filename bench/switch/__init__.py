# SPDX-License-Identifier: Apache-2.0
"""Frames a second through a single switch, of either kind.

subject   the frame, the program and the tables that both switches are measured with
engine    the built-in switch, in process
reduction the built-in switch with a program that combines values, in process
bmv2      simple_switch_grpc, in a network namespace of its own
veth      both as processes on veth links
"""
