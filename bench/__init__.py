"""Measurements: `python -m bench` prints them and writes one flat JSON object, name to figure.

subject   the frame, the program and the tables that both switches are measured with
engine    the built-in switch, in process
bmv2      simple_switch_grpc, in a network namespace of its own
rack      boot time and memory of a whole rack, in a fresh process
"""
