"""Draw docs/images/how_it_works.svg, the picture of developers.md: python docs/how_it_works_figure.py."""

from html import escape
from pathlib import Path

# Column, row, name, what it holds, folder.
BOXES = [
    (0, 0, "X, y, qid", "what the user has", ""),
    (1, 0, "Problem", "rows, preferences", "estimators/inputs.py"),
    (0, 1, "Design", "X w and X' c, with their errors", "data/"),
    (1, 1, "Loss", "value, and one number per row", "losses/"),
    (2, 1, "Objective", "loss(X w) + alpha ||w||^2", "solvers/objective.py"),
    (2, 2, "Method", "Bundle: certificate, step", "solvers/bundle.py"),
    (1, 2, "run", "certificate, stop? step", "solvers/run.py"),
    (0, 2, "SolverResult", "weights, gap, status, history", "solvers/result.py"),
    (0, 3, "Fit", "function, result", "model_selection/tunable.py"),
    (1, 3, "RankSVM", "coef_, objective_, gap_", "estimators/"),
]
# From box, to box, word.
ARROWS = [
    (0, 1, "read"),
    (1, 2, ""),
    (1, 3, ""),
    (2, 4, ""),
    (3, 4, ""),
    (4, 5, ""),
    (5, 6, "steps"),
    (6, 7, "ends"),
    (7, 8, ""),
    (8, 9, "store"),
]
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 230, 74, 300, 122, 12
INK, GREY = "#2b2b2b", "#8a8f94"


def corner(box):
    """The upper left corner of a box."""
    return MARGIN + box[0] * ACROSS, MARGIN + box[1] * DOWN


def drawn(box):
    """A rounded box with a name, its content and its folder."""
    (x, y), (_, _, name, content, folder) = corner(box), box
    middle = x + WIDTH / 2
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#eef3f7" stroke="#40688c"/>'
        f'<text x="{middle}" y="{y + 24}" font-weight="bold">{escape(name)}</text>'
        f'<text x="{middle}" y="{y + 44}">{escape(content)}</text>'
        f'<text x="{middle}" y="{y + 63}" fill="#40688c" font-size="12">{escape(folder)}</text>'
    )


def arrow(first, second, word):
    """A line between the nearest sides of two boxes."""
    (x1, y1), (x2, y2) = corner(first), corner(second)
    if y1 == y2 and abs(first[0] - second[0]) == 1:
        start = (x1 + WIDTH if x2 > x1 else x1, y1 + HEIGHT / 2)
        end = (x2 - 4 if x2 > x1 else x2 + WIDTH + 4, y2 + HEIGHT / 2)
    elif y1 == y2:  # passes under the box between
        start, end = (x1 + WIDTH - 30, y1 + HEIGHT), (x2 + 30, y2 + HEIGHT + 2)
        middle = (start[0] + end[0]) / 2, y1 + HEIGHT + 44
        return (
            f'<path d="M{start[0]},{start[1]} Q{middle[0]},{middle[1]} {end[0]},{end[1]}" fill="none" '
            f'stroke="{GREY}" stroke-width="1.6" marker-end="url(#head)"/>'
        )
    else:
        start, end = (x1 + WIDTH / 2, y1 + HEIGHT), (x2 + WIDTH / 2, y2 - 4)
    words = (start[0] + end[0]) / 2 + 22 * (start[0] == end[0]), (start[1] + end[1]) / 2 - 6
    return (
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="{GREY}" '
        'stroke-width="1.6" marker-end="url(#head)"/>'
        f'<text x="{words[0]}" y="{words[1]}" fill="{GREY}" font-size="12">{escape(word)}</text>'
    )


def chart():
    """The boxes and the arrows between them."""
    parts = [arrow(BOXES[a], BOXES[b], word) for a, b, word in ARROWS] + [drawn(box) for box in BOXES]
    width, height = 2 * MARGIN + 2 * ACROSS + WIDTH, 2 * MARGIN + 3 * DOWN + HEIGHT
    title = (
        "One fit: the data become a problem, a method steps until its gap is at the target, the model is kept"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="14" text-anchor="middle" '
        f'fill="{INK}" role="img" aria-label="{title}">\n<defs><marker id="head" viewBox="0 0 8 8" refX="7" '
        f'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{GREY}"/>'
        "</marker></defs>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("images").joinpath("how_it_works.svg").write_text(chart())
