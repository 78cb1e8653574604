"""Run experiments, keep their results, write the page: what `make reproduce` does."""

import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from rankwise.cli.output import Progress
from reproduce import page, record
from reproduce.data import Data, MissingDataError

ROOT = Path(__file__).resolve().parents[2]
# In the order of the page; the race is asked for by name, because it needs packages of its own.
EXPERIMENTS = (
    "cost", "convergence", "covtype", "parses", "ohsumed", "trec", "reuters", "conjugate_gradients",
    "kernel_time", "jester", "irrelevant_pairs", "ordinal_curves", "document_ranks", "hull_bins", "hull_time",
    "hull_l1",
)  # fmt: skip
RACE = "race"
# How long to wait for the machine to become idle, and how often to look.
PATIENCE, PAUSE = 180, 10


class BusyError(RuntimeError):
    """Other programs use the machine, so that no experiment can be timed."""


def experiment(name):
    return import_module(f"reproduce.{name}")


def result_path(folder, name):
    return Path(folder) / f"{name}.json"


def is_done(name, options):
    """Say whether a result is there that was found under these settings and, unless --busy, undisturbed."""
    found = record.load(result_path(options.output, name))
    if options.force or not record.same_settings(found, experiment(name).settings(options.quick)):
        return False
    return options.busy or options.quick or not record.was_busy(found)


def wait_for_idle_machine(options, clock=time.monotonic, sleep=time.sleep, load=record.current_load):
    """Return the load when few other processes run; raise `BusyError` where they do not end."""
    if options.quick:
        return record.load_average()
    end = clock() + PATIENCE
    while (found := load()) is not None and found > record.QUIET_LOAD and not options.busy:
        if clock() > end:
            raise BusyError(
                f"Other programs keep {found:.1f} cores busy, more than {record.QUIET_LOAD}: end them, or "
                "let --busy note it. What is done is kept, and the next call goes on from here."
            )
        sleep(PAUSE)
    return found


def run_one(name, options, progress):
    """Run an experiment and keep its result; return the seconds it took."""
    module = experiment(name)
    settings = module.settings(options.quick)
    data = Data(may_generate=options.quick)
    load = wait_for_idle_machine(options)
    found = record.measured(name, module, settings, load, lambda: module.run(settings, data, progress))
    found["generated_data"] = sorted(set(data.generated))
    record.save(found, result_path(options.output, name))
    return found["seconds"]


def expected_seconds(names, options):
    """Return the seconds that experiments took the last time, with 0 for those that never ran."""
    records = [record.load(result_path(options.output, name)) for name in names]
    return [found["seconds"] if found else 0.0 for found in records]


def left(seconds):
    """Write the time that is left.

    >>> left([30.0, 45.0]), left([4000.0]), left([0.0])
    ('about 2 minutes left', 'about 1.1 hours left', 'nobody knows how long')
    """
    total = sum(seconds)
    if total == 0:
        return "nobody knows how long"
    minutes = max(1, -(-total // 60))
    return f"about {minutes:.0f} minutes left" if minutes < 60 else f"about {total / 3600:.1f} hours left"


def run(options):
    """Run what is not done yet; what fails or has no data is named, and the others go on."""
    names, missing = options.only or EXPERIMENTS, []
    pending = [name for name in names if not is_done(name, options)]
    say(options, f"{len(names) - len(pending)} of {len(names)} experiments are done.")
    seconds = expected_seconds(pending, options)
    for place, name in enumerate(pending):
        label = f"[{place + 1}/{len(pending)}] {name}"
        say(options, f"{label}: {experiment(name).TITLE}; {left(seconds[place:])}")
        with Progress(enabled=sys.stderr.isatty() and not options.quiet) as bar:
            try:
                say(options, f"{label}: {run_one(name, options, lambda *a: bar.show(*a)):.0f} s")
            except (MissingDataError, ImportError) as error:
                missing.append(name)
                print(f"{label}: left out. {error}", file=sys.stderr)
            except BusyError as error:
                print(f"{label}: {error}", file=sys.stderr)
                return [*missing, *pending[place:]]
            except Exception:  # hours of other experiments should not be lost to one
                missing.append(name)
                print(f"{label}: failed.\n{traceback.format_exc()}", file=sys.stderr)
    return missing


def say(options, text):
    if not options.quiet:
        print(text, file=sys.stderr, flush=True)


def complete(options):
    """Return quick runs a folder of their own, so that they never replace the real results."""
    if options.output is None:
        options.output = ROOT / ("build/reproduction" if options.quick else "benchmarks/results")
    return options


def page_path(options):
    committed = (ROOT / "benchmarks/results").resolve()
    return (
        ROOT / "docs/reproduction.md"
        if Path(options.output).resolve() == committed
        else (Path(options.output) / "reproduction.md")
    )


def reproduce(options):
    """Run and write the page, also where Ctrl-C ends the run; return what was left out and the path."""
    options = complete(options)
    path = page_path(options)
    try:
        missing = [] if options.page else run(options)
    finally:
        page.write(options.output, (*EXPERIMENTS, RACE), path)
        say(options, f"The page is {path}.")
    return missing, path
