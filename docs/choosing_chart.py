"""Draw docs/images/choosing.svg, the flow chart of choosing.md: python docs/choosing_chart.py."""

from html import escape
from pathlib import Path

# Column and row of each box, and its lines; questions lead down (no) or to the right (yes).
QUESTIONS = [
    ["Matches between items", "without features?"],
    ["Pairs or survival times", "instead of labels?"],
    ["Do you need a label,", "not just an order?"],
    ["Classes with only", "a partial order?"],
    ["Do you need the probability", "of a pair?"],
    ["A few hundred rows,", "or several outcomes?"],
    ["Nonlinear effects in a model", "that people must read?"],
    ["Other nonlinear effects", "or interactions?"],
]
ANSWERS = [
    ["BradleyTerry", "one score per item"],
    ["RankSVM", "pair_data, from_survival"],
    ["OrdinalSVMCV", "labels with boundaries"],
    ["HullRankerCV", "order=[(higher, lower), ...]"],
    ["RankLogisticCV", "predict_pair_proba"],
    ["RankRLSCV", "exact leave-pair-out"],
    ["CurveRankerCV", "one curve per feature"],
    ["BoostedRanker, or a kernel", 'kernel="rbf", n_components'],
]
LAST = ["RankSVMCV", "linear, any number of rows"]
WIDTH, HEIGHT, STEP, RIGHT, MARGIN = 250, 56, 92, 360, 12
INK, GREY = "#2b2b2b", "#8a8f94"


def box(x, y, lines, fill, stroke, bold):
    """A rounded box with one or two centred lines."""
    middle = x + WIDTH / 2
    first = ' font-weight="bold"' if bold else ""
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="{stroke}"/>'
        f'<text x="{middle}" y="{y + 24}"{first}>{escape(lines[0])}</text>'
        f'<text x="{middle}" y="{y + 43}">{escape(lines[1])}</text>'
    )


def arrow(x1, y1, x2, y2, word):
    """A line with a head, and the answer beside it."""
    dx, dy = (14, 4) if x1 == x2 else (0, -6)
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{GREY}" stroke-width="1.6" '
        'marker-end="url(#head)"/>'
        f'<text x="{(x1 + x2) / 2 + dx}" y="{(y1 + y2) / 2 + dy}" fill="{GREY}">{word}</text>'
    )


def chart():
    """Questions on the left, estimators on the right, the default below."""
    parts = []
    for row, (question, answer) in enumerate(zip(QUESTIONS, ANSWERS, strict=True)):
        y = MARGIN + row * STEP
        middle = y + HEIGHT / 2
        parts += [
            box(MARGIN, y, question, "#eef3f7", "#40688c", False),
            box(MARGIN + RIGHT, y, answer, "#fbeeea", "#c8452f", True),
            arrow(MARGIN + WIDTH, middle, MARGIN + RIGHT - 4, middle, "yes"),
            arrow(MARGIN + WIDTH / 2, y + HEIGHT, MARGIN + WIDTH / 2, y + STEP - 4, "no"),
        ]
    y = MARGIN + len(QUESTIONS) * STEP
    parts.append(box(MARGIN, y, LAST, "#fbeeea", "#c8452f", True))
    size = (2 * MARGIN + RIGHT + WIDTH, y + HEIGHT + MARGIN)
    title = "Which estimator when: questions with yes to the right and no downwards"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
        f'height="{size[1]}" font-family="system-ui, sans-serif" font-size="14" text-anchor="middle" '
        f'fill="{INK}" role="img" aria-label="{title}">\n<defs><marker id="head" viewBox="0 0 8 8" refX="7" '
        f'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{GREY}"/>'
        "</marker></defs>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("images").joinpath("choosing.svg").write_text(chart())
