"""Warnings that point at the line of the caller."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings

import numpy as np

from rankwise.core.text import printable_lines

# Decorators, single dispatch and np.errstate put their frames between those of the package.
_INSIDE = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(np.__file__) + os.sep,
    contextlib.__file__,
    functools.__file__,
)


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of the package; a message may have names of the data."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    shown = printable_lines(message) if isinstance(message, str) else message
    warnings.warn(shown, category, stacklevel=level)
