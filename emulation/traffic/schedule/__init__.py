# SPDX-License-Identifier: Apache-2.0
"""The DAG of sends of a collective, its goals, its proof and its slices on the wire.

schedule   the meaning of a schedule; re-exports dag, goals, slicing and proof
dag        transfers at steps
goals      for every rank, the elements that it holds at the end
proof      lockstep execution, and the proof that a schedule fulfils its goals
slicing    slices, each the content of a frame, and each rank's plans for them
tasks      tasks of a traffic graph, which wait for other tasks as a whole
copies     blocks copied between arrays of different lengths
data       input arrays, sums in a fixed order, comparison with expected results
"""
