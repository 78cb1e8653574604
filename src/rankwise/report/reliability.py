"""The section on the calibration of the probabilities of pairs."""

from __future__ import annotations

from rankwise.core.text import MINUS, share, short
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.models import has_probabilities
from rankwise.evaluation.reliability_diagram import Reliability, reliability
from rankwise.preferences import NoPairsError
from rankwise.report.page import Number, figure, figures, paragraph, section, table
from rankwise.report.reliability_display import reliability_picture
from rankwise.report.shapes import MAX_CURVES


def reliability_section(data: EvaluationData) -> str:
    """Show the calibration of the models with probabilities of pairs; empty if the main model has none."""
    names = [name for name, model in data.models.items() if has_probabilities(model)][:MAX_CURVES]
    if data.name not in names:
        return ""
    try:
        query = data.query if data.preferences is None else None
        found = {name: reliability(data.target, data.scores[name], query) for name in names}
    except NoPairsError:
        return ""
    return section(
        "reliability",
        "Calibration of its probabilities",
        paragraph(in_words(found[data.name])),
        figures(
            figure(reliability_picture(found), CAPTION, key=True), bin_table(data.name, found[data.name])
        ),
        model_table(found) if len(found) > 1 else "",
    )


CAPTION = (
    "Each dot is a bin of pairs: the mean predicted probability of the more likely order, and the fraction "
    "of pairs in that order. On the dashed line the model is calibrated; below it the model is "
    "overconfident. Bars: the fraction of pairs in each bin."
)


def in_words(found: Reliability) -> str:
    """State the calibration error and the overconfidence."""
    over = found.overconfidence
    direction = "overconfident" if over > 0 else "underconfident"
    return (
        f"The expected calibration error of the more likely order is {100 * found.calibration_error:.1f} "
        f"percentage points; on average the model is {direction} by {100 * abs(over):.1f} points. The log "
        f"loss per pair is {short(found.log_loss)}, against 0.6931 for a coin flip. Pairs of equal labels "
        "are left out."
    )


def model_table(found: dict[str, Reliability]) -> str:
    """List the numbers of each model."""
    rows = [
        [name, one.log_loss, _percent(one.calibration_error), _percent(one.overconfidence)]
        for name, one in found.items()
    ]
    header = ["Model", "Pair log loss", "Calibration error", "Overconfidence"]
    return table("Probabilities of pairs", header, rows, name="probabilities")


def bin_table(name: str, found: Reliability) -> str:
    """List the bins of the main model."""
    columns = (found.edges[:-1], found.edges[1:], found.share, found.stated, found.observed)
    rows = [
        [f"{100 * low:.0f}% to {100 * high:.0f}%", *map(_percent, (part, stated, observed))]
        for low, high, part, stated, observed in zip(*(column.tolist() for column in columns), strict=True)
    ]
    header = ["Probability", "Pairs", "Predicted", "Observed"]
    return table(f"Pairs by probability, {name}", header, rows, name="bins")


def _percent(value: float) -> Number:
    if value != value:
        return Number(None)
    return Number(value, share(value).replace("-", MINUS))
