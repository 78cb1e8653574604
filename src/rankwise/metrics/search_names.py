"""The names of measures in ir-measures, such as ``nDCG@10``, ``AP`` and ``P(rel=2)@5``."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np

_PATTERN = re.compile(r"(nDCG|ndcg|AP|MAP|map|RR|MRR|mrr|P|Precision|p)(?:\(rel=(\d+)\))?(?:@([1-9]\d*))?")
_BASES = {"ap": "map", "rr": "mrr", "precision": "p"}


class SearchName(NamedTuple):
    """A measure of ir-measures that this library computes.

    Attributes
    ----------
    base : {"ndcg", "map", "mrr", "p"}
    k : int or None
        The number of ranks that count.
    rel : int
        The lowest relevant grade; NDCG has none.
    gain : {"linear", "exponential"}
        The gain of NDCG: nDCG is that of trec_eval, ndcg that of this library.
    """

    base: str
    k: int | None
    rel: int
    gain: Literal["linear", "exponential"]

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function of `rankwise.metrics`."""
        cutoff = {} if self.k is None else {"k": self.k}
        if self.base == "ndcg":
            return {"gain": self.gain, **cutoff}
        return {"relevant_above": float(np.nextafter(self.rel, -np.inf)), **cutoff}


def search_name(name: str) -> SearchName | None:
    """Return the measure with a name of ir-measures or of this library, None if it is not computed here.

    Examples
    --------
    >>> search_name("P(rel=2)@5")
    SearchName(base='p', k=5, rel=2, gain='linear')
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
    base = _BASES.get(word.lower(), word.lower())
    if (base == "ndcg" and rel) or (base in ("map", "mrr") and k) or (base == "p" and not k):
        return None
    gain: Literal["linear", "exponential"] = "exponential" if word == "ndcg" else "linear"
    return SearchName(base, int(k) if k else None, int(rel) if rel else 1, gain)
