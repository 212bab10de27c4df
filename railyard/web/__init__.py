# SPDX-License-Identifier: Apache-2.0
"""The live page: a fabric at work in a browser, live or replayed. Holds no mechanism of its own.

Its modules:

    app          the web application: page, websocket, who may connect
    feed         the feed of each open page: records, state, answers
    session      a run under the hands of the page: pause, pace, step, faults by hand
    live         sessions of a scenario that runs, and of a recording
    answers      questions that a page may ask, by name
    follow       the question that follows a frame through the switches
    crossings    the question for the last frames of a link
    context      the values that answers use
    link_frames  the last frames of links, kept for pages
    standing     a fabric kept running, on the page
    static_page  a replay as one file, which opens without a server
    server       the application on an address, in a thread of its own
    page/        the front end: plain modules with checked types; packages come from npm at set-up
      drawing/   the fabric on a canvas: positions, colours, pixels
      panels/    the panels beside the fabric: a node or link, events, frames
      charts/    the panel of charts

docs/reference/page-protocol.md describes the messages.
"""
