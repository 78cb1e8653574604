"""The cases of `coverage.py`, a file per subject."""
