# SPDX-License-Identifier: Apache-2.0
"""The live page: a fabric at work in a browser, live or replayed. Holds no mechanism of its own.

Its modules:

    app       the web application: page, websocket, who may connect
    feed      the feed of each open page: records, state, answers
    session   a run under the hands of the page: pause, pace, step, faults by hand
    answers   questions that a page may ask, by name
    follow    the question that follows a frame through the switches
    crossings the question for the last frames of a link
    standing  a fabric kept running, on the page
    server    the application on an address, in a thread of its own
    page/     the front end: plain modules with checked types; packages come from npm at set-up

docs/reference/page-protocol.md describes the messages.
"""
