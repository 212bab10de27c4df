# SPDX-License-Identifier: Apache-2.0
"""Paths that a pair of endpoints uses, the share of traffic on each path, and their source-route headers.

paths          simple paths of a fabric, fewest hops first; links that have not failed
switch_paths   paths by switches alone
relays         paths that begin with a neighbour in the source's domain (PXN)
all_path       Router: the paths of a pair, by strategy; ports and ECMP routes of `hashed`
detours        what replaces a path over a failed link: the place where every detour is decided
relief         longer paths for traffic that leaves a failed link, by the load that the plan puts on links
silence        what replaces paths over which an agent hears nothing, whichever link is at fault
single_paths   pairs to which the turn rules leave one path; imported by its name
columns        longer paths for a demand, by column generation; loads numpy, imported by its name
standby        paths that carry nothing as planned, for failures and congestion
weights        shares of paths: equal, by rate, by demand; apportioned to 16 buckets
linear_program  sparse linear programs, solved by HiGHS
circuit_paths  next hops over a core of optical circuits
path_probing   the path that each value of lb takes, computed; loads numpy, imported by its name
source_route   the 8-byte source-route header
unreachable    pairs that failures have separated, and a sentence about them
general/       any graph of nodes and links: ranks, admitted paths, path sets, next hops
"""
