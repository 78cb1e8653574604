"""Result files: what was found, with the settings, the machine, the versions and the load."""

import json
import os
import platform
import time
from importlib import import_module, metadata
from pathlib import Path
from time import perf_counter

from records import compact, rounded

from rankwise.cli.output import plain

PACKAGES = ("rankwise", "numpy", "scipy", "scikit-learn")
# A run shares the machine when other processes use more cores than this at its beginning.
QUIET_LOAD = 0.5
# For so long the cores in use are counted.
WATCHED_SECONDS = 5.0


def machine():
    """Describe the machine, without its name."""
    return {"cores": os.cpu_count(), "processor": processor_name(), "system": platform.system()}


def processor_name():
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or "unknown"


def versions(packages=PACKAGES):
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = _source_version(name)
    return found


def _source_version(name):
    module = __import__(name.replace("-", "_"))
    return getattr(module, "__version__", "unknown")


def current_load(seconds=WATCHED_SECONDS):
    """Return how many cores are in use just now, or None where the system does not tell.

    The load of the last minute would count what the last experiment did itself.
    """
    try:
        before = busy_seconds()
        time.sleep(seconds)
        return round((busy_seconds() - before) / seconds, 2)
    except (OSError, IndexError, ValueError):
        return load_average()


def busy_seconds():
    """Return the seconds that all cores together have worked since the system started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, *interrupts = map(int, file.readline().split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def load_average():
    """Return the load of the last minute, or None where the system does not tell."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def was_busy(found):
    """Say whether other processes used the machine when a result was found."""
    before = found["load"]["before"]
    return before is not None and before > QUIET_LOAD


def measured(name, experiment, settings, load, run):
    """Run and return the record of a result file; `load` is what others used of the machine before."""
    start = perf_counter()
    result = run()
    seconds = perf_counter() - start
    return {
        "name": name,
        "title": experiment.TITLE,
        "source": experiment.SOURCE,
        "settings": settings,
        "paper": experiment.PAPER,
        "result": result,
        "seconds": seconds,
        "load": {"before": load, "after": load_average()},
        "machine": machine(),
        "versions": versions((*PACKAGES, *getattr(experiment, "PACKAGES", ()))),
    }


def concluded(name, found):
    """Return a record with what its module computes from the recorded numbers, such as p-values."""
    conclusions = getattr(import_module(f"reproduce.{name}"), "conclusions", None)
    return found if conclusions is None else found | {"conclusions": conclusions(found)}


def save(record, path):
    """Write whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(compact(plain(record)))
    partial.replace(path)


def load(path):
    return json.loads(Path(path).read_text()) if Path(path).is_file() else None


def same_settings(record, settings):
    """Say whether a result was found under these settings."""
    return record is not None and record["settings"] == rounded(plain(settings))
