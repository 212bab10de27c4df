# SPDX-License-Identifier: Apache-2.0
"""A compiled program and its p4info, checked against each other and resolved to handles.

pipelines       Pipeline and its compilation, once per configuration however many switches it is pushed to
resolver        finds every name of the p4info in the program, or names the first that does not fit
objects         objects of a p4info and of a program beside each other, by name
layout          one class per kind of P4 object: its P4Runtime id, its engine handle, its message codecs
match           fields of a table's or value set's key: FieldMatch messages and the engine's keys
packet_header   packet-in and packet-out metadata as a header in front of the frame
strings         types that are translated to strings
values          bytestrings, and P4Data of registers and digests
"""
