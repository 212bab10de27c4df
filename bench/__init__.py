"""Measurements: `python -m bench` prints them and writes one flat JSON object, name to figure.

subject   the frame, the program and the tables that both switches are measured with
engine    the built-in switch, in process
bmv2      simple_switch_grpc, in a network namespace of its own
veth      both as processes on veth links
boot      boot time and memory of as many switches as a rack has, in a fresh process
lab       the Mininet testbed: its start, its memory, a scenario on it

By themselves, each printing JSON:

circuits  `python -m bench.circuits`: planning circuits, how fast and how few of them move
page      `python -m bench.page`: the live page in Chromium, frames a second and memory
pod       `python -m bench.pod`: a UB-Mesh Pod whole, its boot, its memory, its packet-hops
"""
