# SPDX-License-Identifier: Apache-2.0
"""Fabrics from outside the project: documents, and functions of a Python file.

files          JSON that `railyard show --json` writes, GraphML, node-link JSON of networkx
htsim_topology topology files of htsim
p4lang_topology  topology files of the P4 language project's tutorials
exports        fabrics as GraphML, DOT, YAML of containerlab
fabrics        the fabric of a file or of a function
"""
