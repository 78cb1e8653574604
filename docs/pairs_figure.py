"""Draw the pictures of pairs.md: docs/images/pairs_counts.svg, pairs_tree.svg and pairs_split.svg.

python docs/pairs_figure.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
from counting_smooth_figure import draw_split

IMAGES = Path(__file__).with_name("images")
INK, SOFT, RED, BLUE = "#2b2b2b", "#6b7480", "#b23a26", "#2f6494"
# Six rows on the line of scores, and their grades.
SCORES = [-0.9, -0.2, 0.5, 1.1, 1.9, 2.6]
GRADES = [0, 2, 0, 1, 3, 1]
# Positions with a mark in the picture of the tree, the new one, and the end of a query.
MARKS = [1, 4, 9, 11, 12, 18, 25, 27, 30, 31, 38, 41, 46, 52, 53, 60]
NEW_MARK, QUERY = 44, 21
UNIT, MARGIN = 11, 20


def violated_pairs(scores, grades):
    """The pairs of a better and a worse row in which the better one is not ahead by 1."""
    rows = range(len(scores))
    return [(j, i) for j in rows for i in rows if grades[j] > grades[i] and scores[j] - scores[i] < 1]


def word(x, y, content, fill=INK, size=13, anchor="middle", weight="normal"):
    """A piece of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{fill}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{content}</text>'
    )


def picture(width, height, title, parts):
    """An SVG file on white, so that it can be read on any page."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img" aria-label="{title}">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n<defs><marker id="head" '
        'viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{RED}"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def arc(start, end, y):
    """An arrow from a better row to a worse one, above the line."""
    height = 14 + 0.42 * abs(end - start)
    turn = 14 if end > start else -14
    return (
        f'<path d="M{start:g},{y - 15} C{start + turn:g},{y - height:g} {end - turn:g},{y - height:g} '
        f'{end:g},{y - 17}" fill="none" stroke="{RED}" stroke-width="1.6" marker-end="url(#head)"/>'
    )


def counts_picture():
    """Six rows, their violated pairs, and the two counts of each."""
    pairs = violated_pairs(SCORES, GRADES)
    across = [150 + 140 * (score - SCORES[0]) for score in SCORES]
    y = 180
    parts = [arc(across[better], across[worse], y) for better, worse in pairs]
    parts.append(f'<line x1="110" y1="{y}" x2="690" y2="{y}" stroke="{SOFT}"/>')
    for k, x in enumerate(across):
        c, d = sum(i == k for _, i in pairs), sum(j == k for j, _ in pairs)
        parts += [
            f'<circle cx="{x:g}" cy="{y}" r="14" fill="#eef3f7" stroke="{INK}"/>',
            word(x, y + 5, GRADES[k], weight="bold"),
            word(x, y + 42, f"{SCORES[k]:g}", SOFT),
            word(x, y + 66, c, RED, weight="bold"),
            word(x, y + 88, d, BLUE, weight="bold"),
            word(x, y + 110, f"{c - d:+d}" if c != d else "0"),
        ]
    for below, name in (
        (5, "grade"),
        (42, "score"),
        (66, "c, worse in"),
        (88, "d, better in"),
        (110, "c &#8722; d"),
    ):
        parts.append(word(14, y + below, name, SOFT, anchor="start"))
    title = "Six rows on the line of scores; an arrow for each pair that is violated, and two counts per row"
    return picture(710, 304, title, parts)


def prefix_counts(marks, start, width):
    """The number of marks in the parts before each of eight, which begin at start."""
    return [sum(start <= mark < start + k * width for mark in marks) for k in range(8)]


def node(x, y, width, counts, added, read):
    """Eight numbers in a row of boxes: those that a mark adds to, and the one that a query reads."""
    parts = []
    for k, count in enumerate(counts):
        fill = "#dbe8f4" if k == read else "#fbe6e0" if k in added else "#ffffff"
        left = x + k * width
        parts.append(
            f'<rect x="{left:g}" y="{y}" width="{width:g}" height="26" fill="{fill}" stroke="{SOFT}"/>'
        )
        plus = f'<tspan fill="{RED}">+1</tspan>' if k in added else ""
        colour, weight = (BLUE, "bold") if k == read else (INK, "normal")
        parts.append(word(left + width / 2, y + 18, f"{count}{plus}", colour, 12, weight=weight))
    return parts


def tree_picture():
    """Sixty-four positions, the top of the tree, and the two nodes that a mark and a query touch."""
    part, within = divmod(NEW_MARK, 8)
    asked, place = divmod(QUERY, 8)
    top = prefix_counts(MARKS, 0, 8)
    below = {k: prefix_counts(MARKS, 8 * k, 1) for k in (part, asked)}
    width = 8 * UNIT
    parts = [word(MARGIN, 22, "marks in the parts before each", SOFT, anchor="start")]
    parts += node(MARGIN, 30, width, top, range(part + 1, 8), asked)
    for k, x in ((asked, MARGIN + 40), (part, MARGIN + 380)):
        center = MARGIN + (k + 0.5) * width
        parts.append(f'<path d="M{center:g},56 L{x + 140:g},92" stroke="{SOFT}" fill="none"/>')
        is_new = k == part
        parts += node(x, 92, 35, below[k], range(within + 1, 8) if is_new else (), None if is_new else place)
        parts.append(f'<path d="M{x + 140:g},118 L{center:g},150" stroke="{SOFT}" fill="none"/>')
    for position in range(64):
        x = MARGIN + (position + 0.5) * UNIT
        is_new = position == NEW_MARK
        fill = RED if is_new else INK if position in MARKS else "#ffffff"
        parts.append(f'<circle cx="{x:g}" cy="160" r="4" fill="{fill}" stroke="{RED if is_new else SOFT}"/>')
    for k in range(9):
        x = MARGIN + k * width
        parts.append(f'<line x1="{x}" y1="152" x2="{x}" y2="168" stroke="{SOFT}"/>')
    end = MARGIN + QUERY * UNIT
    parts.append(f'<line x1="{end}" y1="148" x2="{end}" y2="176" stroke="{BLUE}" stroke-width="2.5"/>')
    total = top[asked] + below[asked][place]
    asks = f"marks before here: {top[asked]} + {below[asked][place]} = {total}"
    parts += [
        word(MARGIN + (NEW_MARK + 0.5) * UNIT, 194, "a new mark adds one in one node per level", RED),
        word(end, 194, asks, BLUE),
    ]
    title = "A tree over 64 positions: a mark adds to one node per level, a query reads one number per level"
    return picture(2 * MARGIN + 64 * UNIT, 208, title, parts)


def draw_loss(path):
    """The smooth loss, and its two parts."""
    plt.rcParams.update({"svg.hashsalt": "pairs", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    draw_split(axes)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def main():
    """Write the three pictures."""
    (IMAGES / "pairs_counts.svg").write_text(counts_picture())
    (IMAGES / "pairs_tree.svg").write_text(tree_picture())
    draw_loss(IMAGES / "pairs_split.svg")


if __name__ == "__main__":
    main()
