"""The experiments of the five papers, run again: `make reproduce`, one file for each experiment.

An experiment is a module with

    TITLE, SOURCE, PAPER             what it repeats, and the paper's own numbers
    settings(quick)                  sizes, seeds and parameters; a result with the same settings is kept
    run(settings, data, progress)    what was found, as numbers for JSON
    conclusions(record)              p-values and counts from the recorded numbers, if there are any
    section(record)                  its part of the page, written from its result file alone
    draw(record, path)               its figure, if it has one
"""
