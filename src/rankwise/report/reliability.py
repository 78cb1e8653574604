"""The section on whether stated probabilities of pairs come true."""

from __future__ import annotations

from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.models import has_probabilities
from rankwise.evaluation.reliability import Reliability, reliability
from rankwise.preferences import NoPairsError
from rankwise.report.page import Cell, Number, figure, paragraph, section, share, short, table
from rankwise.report.shapes import MAX_CURVES, legend
from rankwise.report.svg import Chart


def reliability_section(data: EvaluationData) -> str:
    """Compare the probabilities of the models that state some with what happened, or show nothing."""
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
        "Whether its probabilities come true",
        paragraph(in_words(found[data.name])),
        '<div class="figures">',
        figure(curves(found), CAPTION),
        "<div>" + legend(names) + bin_table(data.name, found[data.name]) + "</div></div>",
        model_table(found) if len(found) > 1 else "",
    )


CAPTION = (
    "Each dot is a bin of pairs: the mean probability of the order that the model finds more likely, and the "
    "share of pairs in that order. On the dashed line probabilities come true; below it the model is too "
    "sure of itself."
)


def in_words(found: Reliability) -> str:
    """Tell by how much the model is too sure, or not sure enough."""
    over = found.overconfidence
    judged = "too sure of itself" if over > 0 else "not sure enough"
    return (
        f"On average it gives the order that it finds more likely a probability that is off by "
        f"{100 * found.calibration_error:.1f} points, and is {judged} by {100 * abs(over):.1f} points. "
        f"The log loss of a pair is {short(found.log_loss)}; a coin has 0.6931. Pairs of equal labels are "
        "left out."
    )


def curves(found: dict[str, Reliability]) -> str:
    """Draw the share in the stated order over the stated probability."""
    filled = {name: one.share > 0 for name, one in found.items()}
    low = min(0.5, *(float(one.observed[filled[name]].min()) for name, one in found.items()))
    chart = Chart(
        "Stated probability and share of pairs in the stated order, " + ", ".join(found),
        (0.5, 1.0), (low, 1.0), x_label="stated probability", y_label="share in that order", height=360,
    )  # fmt: skip
    chart.segment((0.5, 1.0), (0.5, 1.0), "rule")
    for style, (name, one) in enumerate(found.items()):
        stated, observed = one.stated[filled[name]], one.observed[filled[name]]
        chart.line(stated, observed, style, name=name)
        titles = [
            f"{name}: stated {p:.3f}, came true {o:.3f}, {share(part)} of pairs"
            for p, o, part in zip(stated, observed, one.share[filled[name]], strict=True)
        ]
        chart.points(stated, observed, style, titles)
    return chart.render()


def model_table(found: dict[str, Reliability]) -> str:
    """Write the numbers of each model."""
    rows: list[list[Cell]] = [
        [name, Number(one.log_loss), Number(one.calibration_error), Number(one.overconfidence)]
        for name, one in found.items()
    ]
    header = ["Model", "Pair log loss", "Calibration error", "Too sure by"]
    return table("Probabilities of pairs", header, rows, name="probabilities")


def bin_table(name: str, found: Reliability) -> str:
    """Write the bins of the model that is reported on."""
    columns = (found.edges[:-1], found.edges[1:], found.share, found.stated, found.observed)
    rows: list[list[Cell]] = [
        [f"{low:.2f} to {high:.2f}", Number(part, share(float(part))), Number(stated), Number(observed)]
        for low, high, part, stated, observed in zip(*(column.tolist() for column in columns), strict=True)
    ]
    header = ["Probability", "Pairs", "Stated", "Came true"]
    return table(f"Pairs by probability, {name}", header, rows, name="bins")
