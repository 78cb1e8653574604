"""Run experiments, keep their results, write the page: what `make reproduce` does."""

import sys
from importlib import import_module
from pathlib import Path

from rankwise.cli.output import Progress
from reproduce import page, record
from reproduce.data import Data, MissingDataError

ROOT = Path(__file__).resolve().parents[2]
# In the order of the page; the race is asked for by name, because it needs packages of its own.
EXPERIMENTS = (
    "cost", "convergence", "covtype", "parses", "ohsumed", "reuters", "kernel_time", "jester",
    "irrelevant_pairs", "ordinal_curves", "document_ranks", "hull_bins",
)  # fmt: skip
RACE = "race"


def experiment(name):
    return import_module(f"reproduce.{name}")


def result_path(folder, name):
    return Path(folder) / f"{name}.json"


def run_one(name, options, progress):
    """Run an experiment unless its result is there; say what was done."""
    module, path = experiment(name), result_path(options.output, name)
    settings = module.settings(options.quick)
    if not options.force and record.same_settings(record.load(path), settings):
        return "kept"
    data = Data(may_generate=options.quick)
    found = record.measured(name, module, settings, lambda: module.run(settings, data, progress))
    found["generated_data"] = sorted(set(data.generated))
    record.save(found, path)
    return f"{found['seconds']:.0f} s"


def run(options):
    """Run what is asked for; experiments whose data are missing are named, and the others go on."""
    names, missing = options.only or EXPERIMENTS, []
    for place, name in enumerate(names, 1):
        label = f"[{place}/{len(names)}] {name}"
        with Progress(enabled=sys.stderr.isatty() and not options.quiet) as bar:
            try:
                say(options, f"{label}: {experiment(name).TITLE}")
                say(options, f"{label}: {run_one(name, options, lambda *a: bar.show(*a))}")
            except (MissingDataError, ImportError) as error:
                missing.append(name)
                print(f"{label}: left out. {error}", file=sys.stderr)
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
    """Run and write the page; give the names that were left out and the page's path."""
    options = complete(options)
    missing = [] if options.page else run(options)
    path = page_path(options)
    page.write(options.output, (*EXPERIMENTS, RACE), path)
    say(options, f"The page is {path}.")
    return missing, path
