"""`rankwise evaluate --survival`: concordance with right-censored survival times."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from rankwise.cli.output import Console
from rankwise.core.text import plural, table


def survival_result(rankings: list[Any], data: Any, console: Console, start: float) -> None:
    """Compute and print the concordance of each model."""
    models = [{"model": one.path} | measured(data.y, one.scores(data.X)) for one in rankings]
    values = {
        "command": "evaluate",
        "rows": len(data.y),
        "events": int(data.y.event.sum()),
        "strata": data.n_queries,
        "pairs": int(data.y.n_pairs),
        "models": models,
        "seconds": perf_counter() - start,
    }
    console.result(values, lines_of(values))


def measured(y: Any, scores: Any) -> dict[str, Any]:
    """Return Harrell's and Uno's concordance with their intervals."""
    from rankwise.metrics import concordance_interval

    found = {}
    for name in ("harrell", "uno"):
        one = concordance_interval(y, scores, weights=name)
        found[name] = {"index": one.estimate, "low": one.low, "high": one.high}
    return found


def lines_of(values: dict[str, Any]) -> list[str]:
    """Return the result for people."""
    rows = [
        [model["model"], title, *(f"{model[name][key]:.4f}" for key in ("index", "low", "high"))]
        for model in values["models"]
        for name, title in (("harrell", "Harrell"), ("uno", "Uno"))
    ]
    strata = "1 stratum" if values["strata"] == 1 else f"{values['strata']:,} strata"
    counts = {name: plural(values[f"{name}s"], name) for name in ("row", "event", "pair")}
    title = f"{counts['row']}, {counts['event']}, {strata}, {counts['pair']}"
    return [title, "", *table(["model", "concordance", "index", "from", "to"], rows, n_left=2)]
