# SPDX-License-Identifier: Apache-2.0
"""The lesson engine: labs that a student starts, mends and checks, and that a teacher grades.

A lab is a folder of `labs/`: lab.yaml, README.md, starter/ and check.py; `labs/solutions/` has its solution
by stage. A check runs in a process of its own and measures frames, counters and tables; a student's Python
runs in a further process, confined, and hands over JSON only.

    catalogue   labs and their stages, read from lab.yaml
    folder      a student's folder: start, hints, progress, restore
    attempt     what a stage's check gets, and the verdict that it returns
    p4_program  the P4 program of a lab with the student's file, compiled or as shipped for the starter
    scripted_host    a host that sends given frames and keeps those that arrive
    numbered_frames  frames of which each is counted, between hosts
    confined/   a student's code in a process with limits
    checker     the stages of one folder, checked in a process of its own
    report      report.json of a check, and its verification
    similarity  how much of a student's files another folder or a solution has as well
    grading     a class's folders in one table: CSV and HTML
"""
