"""The names of measures in ir-measures, such as ``nDCG@10``, ``AP`` and ``P(rel=2)@5``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

_PATTERN = re.compile(r"(nDCG|AP|MAP|RR|MRR|P|Precision)(?:\(rel=(\d+)\))?(?:@([1-9]\d*))?")
_BASES = {"nDCG": "ndcg", "AP": "map", "MAP": "map", "RR": "mrr", "MRR": "mrr", "P": "p", "Precision": "p"}


class SearchName(NamedTuple):
    """A measure of ir-measures that this library computes.

    Attributes
    ----------
    base : {"ndcg", "map", "mrr", "p"}
    k : int or None
        The number of ranks that count.
    rel : int
        The lowest relevant grade; NDCG has none, and takes the grades as gains.
    """

    base: str
    k: int | None
    rel: int

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function of `rankwise.metrics`."""
        cutoff = {} if self.k is None else {"k": self.k}
        if self.base == "ndcg":
            return {"gain": "linear", **cutoff}
        return {"relevant_above": float(np.nextafter(self.rel, -np.inf)), **cutoff}


def search_name(name: str) -> SearchName | None:
    """Return the measure with a name of ir-measures, None if this library does not compute it.

    Examples
    --------
    >>> search_name("P(rel=2)@5")
    SearchName(base='p', k=5, rel=2)
    >>> search_name("nDCG@10").options, search_name("Bpref")
    ({'gain': 'linear', 'k': 10}, None)
    """
    if re.match(r"NDCG\b", name):
        other = name[4:]
        raise ValueError(
            f"{name!r} is ambiguous: write 'nDCG{other}' for the linear gain of trec_eval, or "
            f"'ndcg{other}' for the exponential gain 2^grade - 1."
        )
    found = _PATTERN.fullmatch(name.replace(" ", ""))
    if found is None:
        return None
    word, rel, k = found.groups()
    base = _BASES[word]
    if (base == "ndcg" and rel) or (base in ("map", "mrr") and k) or (base == "p" and not k):
        return None
    return SearchName(base, int(k) if k else None, int(rel) if rel else 1)
