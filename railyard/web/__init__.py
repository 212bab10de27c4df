# SPDX-License-Identifier: Apache-2.0
"""The live page: a fabric in a browser, live or replayed. The page contains no emulation of its own.

Its modules:

    app          the web application: page, websocket, access control
    feed         the feed of each open page: records, state, answers
    session      a run that pages control: pause, pace, step, faults by hand
    live         sessions of a running scenario and of a recording
    answers      questions that a page may ask, by name
    follow       the question `follow`: follow a frame through the switches
    crossings    the question `frames`: the last frames of a link
    context      the values that answers use
    link_frames  the last frames of links, kept for pages
    standing     a fabric kept running by `railyard up`, for the page
    static_page  a replay as one HTML file, which opens without a server
    server       serves the application at an address, in a thread of its own
    page/        the front end: plain modules with checked types; packages come from npm at set-up
      drawing/   the fabric on a canvas: positions, colours, pixels
      panels/    the panels beside the fabric: a node or link, events, frames
      charts/    the panel of charts

docs/reference/page-protocol.md describes the messages.
"""
