"""Checks, threads, memory, progress and text: used by every other package, on numpy alone."""
