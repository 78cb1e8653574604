"""Do 95% intervals cover the truth? Coverage by simulation, for every interval of the library.

    python benchmarks/coverage.py                 # 1,000 simulations of each case: some minutes
    python benchmarks/coverage.py --quick         # 40 of each; prints, and writes nothing
    python benchmarks/coverage.py --only strata   # cases whose names contain this
    python benchmarks/coverage.py --table         # write the tables of the pages, nothing else

A case draws data from a known law, computes intervals as a user would, and counts how often they contain the
true value, which is found from a very large sample. With 1,000 simulations the standard error of a coverage
of 95% is .007. Conformal ranges of 90% are judged by the places of new rows, over random splits. The results
are kept in benchmarks/results/coverage.json.
"""

import argparse
import datetime
import json

from coverage_cases.cases import CASES
from coverage_cases.pages import RESULTS, write_tables
from coverage_cases.score_tables import SEPARATIONS
from coverage_cases.searches import (
    CONFORMAL,
    FRACTION_OF_SEARCHES,
    SEARCHES,
    choice_coverage,
    conformal_coverage,
)
from coverage_cases.simulation import coverage
from coverage_cases.votes import CLAIMS, FIRST_PLACES, claimed_order
from records import compact

SIMULATIONS, QUICK = 1000, 40


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS, help="of each case")
    parser.add_argument("--table", action="store_true", help="write the tables of the page, nothing else")
    options = parser.parse_args(arguments)
    if options.table:
        return write_tables()
    simulations = QUICK if options.quick else options.simulations
    recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    print(f"{'':<56}{'':<12}{'truth':>8}{'coverage':>10}{'length':>9}")
    cases = {title: (coverage, case) for title, case in CASES.items()}
    cases |= {f"conformal: {title}": (conformal_coverage, drawn) for title, drawn in CONFORMAL.items()}
    cases |= {title: (measure, None) for title, measure in FIRST_PLACES.items()}
    cases |= {title: (measure, None) for title, measure in SEPARATIONS.items()}
    cases |= {title: (claimed_order(drawn), None) for title, drawn in CLAIMS.items()}
    cases |= {title: (choice_coverage, drawn) for title, drawn in SEARCHES.items()}
    for title, (measure, case) in cases.items():
        if options.only not in title:
            continue
        n_draws = int(FRACTION_OF_SEARCHES * simulations) if title in SEARCHES else simulations
        found = measure(case, n_draws)
        for name, one in found.items():
            print(
                f"{title:<56}{name:<12}{one['truth']:>8.3f}{one['coverage']:>10.3f}{one['length']:>9.3f}",
                flush=True,
            )
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        recorded[title] = {"simulations": n_draws, "date": today, "quantities": found}
        if not options.quick:
            RESULTS.write_text(compact(recorded))


if __name__ == "__main__":
    main()
