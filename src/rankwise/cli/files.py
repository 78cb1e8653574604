"""The files of a command: an output must not replace an input or another output."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable

from rankwise.cli.arguments import UsageError


def check_files(reads: Iterable[str], writes: Iterable[str], *, to_standard_output: bool = False) -> None:
    """Refuse an output that is the same file as an input or another output, also through links.

    `to_standard_output` tells whether the output - is standard output; other commands refuse it.
    """
    inputs = {identity(path, 0) for pattern in reads for path in matching(pattern)} - {None}
    outputs = set()
    for path in writes:
        if path == "-" and not to_standard_output:
            raise UsageError("The output must be a file, and - is none; write ./- for a file of that name.")
        found = identity(path, 1)
        if found in inputs:
            raise UsageError(f"The output {path!r} is also an input, which it would replace.")
        if found is not None and found in outputs:
            raise UsageError(f"The output {path!r} is named twice, and one would replace the other.")
        outputs.add(found)


def matching(pattern: str) -> list[str]:
    """Return the path itself, or the files that match it as a pattern, which --dask reads."""
    return [pattern] if os.path.exists(pattern) else glob.glob(pattern) or [pattern]


def identity(path: str, standard: int) -> tuple[int, int] | str | None:
    """Return the device and number of a file, or the full path of one that does not exist.

    The path - has the descriptor `standard`. Pipes and devices, which are not replaced, have None.
    """
    try:
        status = os.stat(standard if path == "-" else path)
    except OSError:
        return None if path == "-" else os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
