"""The available memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# The check is slow, and allocations below this size are not worth it.
UNCHECKED_BYTES = 1 << 17


def available_memory() -> int | None:
    """Return the bytes that can be allocated without swapping, or None if unknown.

    On Linux this is the kernel's estimate, or the remainder of a limit of the control groups of the process
    if that is less. Elsewhere it is the free memory, or all memory if only that is known.
    """
    linux = [_meminfo_available(), *_cgroup_available()]
    known = [free for free in linux if free is not None]
    return min(known) if known else _sysconf_available()


def require_memory(n_bytes: float, what: str, way_out: str) -> None:
    """Raise a MemoryError if there is less free memory than `n_bytes`.

    The message is "`what` needs ... of memory, but ... is free; `way_out`." Small sizes are not checked.

    Examples
    --------
    >>> require_memory(1e21, "A matrix of that size", "take fewer rows")
    Traceback (most recent call last):
        ...
    MemoryError: A matrix of that size needs 1,000,000,000.0 TB of memory, but ... is free; take fewer rows.
    """
    free = available_memory() if n_bytes > UNCHECKED_BYTES else None
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs {human_bytes(n_bytes)} of memory, but {human_bytes(free)} is free; {way_out}."
        )


def human_bytes(n_bytes: float) -> str:
    """Format a number of bytes with a unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.4g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} TB"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _field(text: str, name: str) -> int | None:
    """Return the number after a name at the start of a line."""
    words = (line.split() for line in text.splitlines())
    return next((int(line[1]) for line in words if len(line) > 1 and line[0] == name), None)


def _meminfo_available() -> int | None:
    kilobytes = _field(_read(Path("/proc/meminfo")), "MemAvailable:")
    return None if kilobytes is None else 1024 * kilobytes


def _cgroup_available() -> Iterator[int]:
    """Yield the remainder of each limit of the control groups of this process and of their parents."""
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            mount, files = "/sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mount = "/sys/fs/cgroup/memory"
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        below_mount = PurePosixPath(group.lstrip("/"))
        for folder in (below_mount, *below_mount.parents):
            yield from _remainder(Path(mount, folder), *files)


def _remainder(folder: Path, limit_file: str, usage_file: str, cache: str) -> Iterator[int]:
    limit, usage = _read(folder / limit_file).strip(), _read(folder / usage_file).strip()
    if limit.isdigit() and usage.isdigit():
        # The file cache counts as used, but is reclaimed on demand.
        reclaimable = _field(_read(folder / "memory.stat"), cache) or 0
        yield max(0, int(limit) - int(usage) + reclaimable)


def _sysconf_available() -> int | None:
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            continue
    return None
