# SPDX-License-Identifier: Apache-2.0
"""Fabrics from files, and from functions of a user's Python file.

files          JSON that `railyard show --json` writes, GraphML, node-link JSON of networkx
htsim_topology topology files of htsim
p4lang_topology  topology files of the P4 language project's tutorials
exports        fabrics to GraphML, DOT, YAML of containerlab
fabrics        entry point: the fabric of a file or of a function
"""
