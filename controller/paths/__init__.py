# SPDX-License-Identifier: Apache-2.0
"""Search for paths, and shares of traffic on them.

finder         paths over working links, fewest hops first
choice         the part of a forwarding scheme used by standby paths, overflow paths and repathing
switch_paths   paths through switches alone
relays         paths that begin with a neighbour in the source's domain (PXN)
single_paths   pairs of endpoints with a single permitted path
permitted      paths from a node to all other nodes, for messages of the control plane
source_route   the 8-byte source-route header
graph/         paths of any graph: admitted paths, path sets, next hops, virtual lanes in use
bulk/          candidate paths of all pairs of a plan, searched at once in arrays
shares/        shares of paths for a demand, longer paths, standby paths, paths after failures
"""
