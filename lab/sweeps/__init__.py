# SPDX-License-Identifier: Apache-2.0
"""One scenario run many times: links, NPUs or switches failed in turn.

Its modules:

    parallel      runs in parallel processes
    sweep         every link, and random pairs of links
    failures      every NPU of the job, or every switch
    notification  spread of news about a failed link, without data
"""
