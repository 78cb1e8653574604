"""The section on the calibration of the probabilities of pairs."""

from __future__ import annotations

from rankwise.core.text import share, short
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.models import has_probabilities
from rankwise.evaluation.reliability import Reliability, reliability
from rankwise.preferences import NoPairsError
from rankwise.report.page import Cell, Number, figure, paragraph, section, table
from rankwise.report.shapes import MAX_CURVES, legend
from rankwise.report.svg import Chart


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
        '<div class="figures">',
        figure(curves(found), CAPTION),
        "<div>" + legend(names) + bin_table(data.name, found[data.name]) + "</div></div>",
        model_table(found) if len(found) > 1 else "",
    )


CAPTION = (
    "Each dot is a bin of pairs: the mean predicted probability of the more likely order, and the fraction "
    "of pairs in that order. On the dashed line the model is calibrated; below it the model is overconfident."
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


def curves(found: dict[str, Reliability]) -> str:
    """Draw the observed frequency of the predicted order by its predicted probability."""
    filled = {name: one.share > 0 for name, one in found.items()}
    low = min(0.5, *(float(one.observed[filled[name]].min()) for name, one in found.items()))
    chart = Chart(
        "Predicted probability and observed frequency of the order of pairs, " + ", ".join(found),
        (0.5, 1.0), (low, 1.0), x_label="predicted probability", y_label="fraction in that order", height=360,
    )  # fmt: skip
    chart.segment((0.5, 1.0), (0.5, 1.0), "rule")
    for style, (name, one) in enumerate(found.items()):
        stated, observed = one.stated[filled[name]], one.observed[filled[name]]
        chart.line(stated, observed, style, name=name)
        titles = [
            f"{name}: predicted {p:.3f}, observed {o:.3f}, {share(part)} of pairs"
            for p, o, part in zip(stated, observed, one.share[filled[name]], strict=True)
        ]
        chart.points(stated, observed, style, titles)
    return chart.render()


def model_table(found: dict[str, Reliability]) -> str:
    """List the numbers of each model."""
    rows: list[list[Cell]] = [
        [name, Number(one.log_loss), Number(one.calibration_error), Number(one.overconfidence)]
        for name, one in found.items()
    ]
    header = ["Model", "Pair log loss", "Calibration error", "Overconfidence"]
    return table("Probabilities of pairs", header, rows, name="probabilities")


def bin_table(name: str, found: Reliability) -> str:
    """List the bins of the main model."""
    columns = (found.edges[:-1], found.edges[1:], found.share, found.stated, found.observed)
    rows: list[list[Cell]] = [
        [f"{low:.2f} to {high:.2f}", Number(part, share(float(part))), Number(stated), Number(observed)]
        for low, high, part, stated, observed in zip(*(column.tolist() for column in columns), strict=True)
    ]
    header = ["Probability", "Pairs", "Predicted", "Observed"]
    return table(f"Pairs by probability, {name}", header, rows, name="bins")
