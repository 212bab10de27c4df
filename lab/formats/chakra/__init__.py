# SPDX-License-Identifier: Apache-2.0
"""Chakra execution traces of MLCommons.

trace   nodes of a trace in protobuf
graph   traces of all ranks as a traffic graph
"""
