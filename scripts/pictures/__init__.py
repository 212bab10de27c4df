# SPDX-License-Identifier: Apache-2.0
"""Pictures of the guides, drawn from the project itself: `python -m scripts.pictures [FOLDER]` writes all.

    fabrics      a small member of each family of fabrics; circuits before and after a change
    switches     headers of a frame, tables of a switch
    routes       frames hop by hop, paths before and after a change
    links        states of a link, frames and credits over time
    collectives  steps of an AllReduce, placement of a training job
    jobs         iterations, levels
    lessons      a change of circuits over time, a hash at two tiers
    testbeds     processes, namespaces and interfaces; pipelines of the P4Runtime server
    charts       figures beside limits and beside a paper's
    house        floors of the code, keys of a scenario
    svg          boxes, lines and text

A test compares the committed pictures with those that this package draws.
"""
