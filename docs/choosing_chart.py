"""Draw docs/images/choosing.svg, the flow chart of choosing.md: python docs/choosing_chart.py."""

from html import escape
from pathlib import Path

# What the data are, then what is needed: questions lead down (no) or to the right (yes).
FIRST = ["What do you have?", "then: what do you need?"]
QUESTIONS = [
    ["Matches or votes", "between named items?"],
    ["Scores of models", "in several tasks?"],
    ["Pairs: one row was chosen,", "the other rejected?"],
    ["Survival times,", "some of them censored?"],
    ["Clicks", "on shown results?"],
    ["Classes with only", "a partial order?"],
    ["Labels, and you need a grade,", "not just an order?"],
    ["The probability", "that one row is above another?"],
    ["A few hundred rows,", "or several outcomes?"],
    ["Nonlinear effects in a model", "that people must read?"],
    ["Mixed columns", "with unknown interactions?"],
]
ANSWERS = [
    ["BradleyTerry", "one score per item"],
    ["ScoreTable", "over tasks, or over instances"],
    ["RankLogisticCV", "with pair_data"],
    ["RankPlackettLuceCV", "Cox regression, from_survival"],
    ["RankSVM", "with Preferences.from_clicks"],
    ["HullRankerCV", "order=[(higher, lower), ...]"],
    ["OrdinalSVMCV, AutoRanker", "linear; curved: predict_grade"],
    ["RankLogisticCV", "predict_pair_proba"],
    ["RankRLSCV", "exact leave-pair-out"],
    ["CurveRankerCV", "one curve per feature"],
    ["BoostedRanker, KernelRanker", "trees, or a learned kernel"],
]
LAST = ["RankSVMCV", "linear and fast, with qid if grouped"]
WIDTH, HEIGHT, STEP, RIGHT, MARGIN = 270, 52, 78, 380, 12
INK, GREY = "#2b2b2b", "#8a8f94"


def box(x, y, lines, fill, stroke, bold):
    """A rounded box with one or two centered lines."""
    middle = x + WIDTH / 2
    first = ' font-weight="bold"' if bold else ""
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="{stroke}"/>'
        f'<text x="{middle}" y="{y + 24}"{first}>{escape(lines[0])}</text>'
        f'<text x="{middle}" y="{y + 43}">{escape(lines[1])}</text>'
    )


def arrow(x1, y1, x2, y2, word):
    """A line with a head, and the answer beside it."""
    dx, dy = (10 + 4 * len(word), 4) if x1 == x2 else (0, -6)
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{GREY}" stroke-width="1.6" '
        'marker-end="url(#head)"/>'
        f'<text x="{(x1 + x2) / 2 + dx}" y="{(y1 + y2) / 2 + dy}" fill="{GREY}">{word}</text>'
    )


def chart():
    """The default on top, questions on the left, estimators on the right."""
    centre = MARGIN + WIDTH / 2
    parts = [
        box(MARGIN, MARGIN, FIRST, "white", "#8a8f94", True),
        arrow(centre, MARGIN + HEIGHT, centre, MARGIN + STEP - 4, ""),
    ]
    for row, (question, answer) in enumerate(zip(QUESTIONS, ANSWERS, strict=True), 1):
        y = MARGIN + row * STEP
        middle = y + HEIGHT / 2
        parts += [
            box(MARGIN, y, question, "#eef3f7", "#40688c", False),
            box(MARGIN + RIGHT, y, answer, "#fbeeea", "#c8452f", True),
            arrow(MARGIN + WIDTH, middle, MARGIN + RIGHT - 4, middle, "yes"),
            arrow(centre, y + HEIGHT, centre, y + STEP - 4, "no"),
        ]
    y = MARGIN + (len(QUESTIONS) + 1) * STEP
    parts.append(box(MARGIN, y, LAST, "#fbeeea", "#c8452f", True))
    size = (2 * MARGIN + RIGHT + WIDTH, y + HEIGHT + MARGIN)
    title = "Questions about the data, then about what is needed: yes leads to the right, no down"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
        f'height="{size[1]}" font-family="system-ui, sans-serif" font-size="14" text-anchor="middle" '
        f'fill="{INK}" role="img" aria-label="{title}">\n<defs><marker id="head" viewBox="0 0 8 8" refX="7" '
        f'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{GREY}"/>'
        "</marker></defs>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("images").joinpath("choosing.svg").write_text(chart())
