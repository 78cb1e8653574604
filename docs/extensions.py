"""What Sphinx leaves to do: links from names, tables, defaults, formulas, thumbnails, pictures."""

import doctest
import inspect
import re
from pathlib import Path

from docutils import nodes
from formulas import set_formulas
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

DOCS = Path(__file__).parent
PICTURES = DOCS / "generated" / "pictures"
PANELS = DOCS / "gallery" / "images" / "panels"
# A name, perhaps with what it is called with: `RankSVM`, `metrics.ndcg`, `Preferences.from_scores(y, qid)`.
NAME = re.compile(r"([A-Za-z_][\w.]*)(\(.*\))?", re.DOTALL)

# A number, perhaps with its error or a unit: 0.71 ± 0.02, 3.9 s, 12 to 40, 2026-11-17.
NUMBER = re.compile(r"[-+\u2212<>~.]*\d[\d.,:\-+\u2212±\u00d7/%e() ]*(to [\d., ]+)?([A-Za-z%]{1,3})?")


# Links to examples, as a page in the repository has them.
EXAMPLE = re.compile(r"\]\(\.\./examples/(plot_\w+|index)\.(?:py|rst)\)")


# Pages of evidence and details, which would come before those that answer a question.
NOT_SEARCHED = {
    "benchmarks",
    "changelog",
    "counting",
    "counting_smooth",
    "dask_details",
    "developers",
    "reproduction",
}


def leave_out_of_search(app, docname, source):
    """Keep pages of evidence and details out of the index of the search."""
    if docname in NOT_SEARCHED or docname.startswith("decisions/"):
        source[0] = f"---\nnosearch: true\n---\n\n{source[0]}"


def link_gallery(app, docname, source):
    """Turn links to the files of examples into links to their pages in the gallery."""
    source[0] = EXAMPLE.sub(r"](/gallery/\1.rst)", source[0])


class LinkNames(SphinxPostTransform):
    """Make links of the names of the library that stand as code in the text of a page."""

    default_priority = 20

    def run(self, **kwargs):
        """Go through the code on a page."""
        page = self.env.docname
        objects = self.env.domaindata["py"]["objects"]
        names = endings(name for name, entry in objects.items() if is_public(entry))
        for literal in list(self.document.findall(nodes.literal)):
            target = names.get(named(literal.astext()))
            if target and not isinstance(literal.parent, nodes.reference | nodes.title):
                entry = objects[target]
                child = literal.deepcopy()
                link = make_refnode(self.app.builder, page, entry.docname, entry.node_id, child, target)
                literal.replace_self(link)


def is_public(entry):
    """Return whether an object is that of a page, under the name that people import."""
    return entry.docname.startswith("generated/") and not entry.aliased


def named(text):
    """Return the name that stands at the beginning of some code, or None where it may be anything.

    A short word in small letters may be a package, a column, or a method of many classes.
    """
    match = NAME.fullmatch(text)
    telling = match and (match[2] or "_" in match[1] or "." in match[1] or match[1] != match[1].lower())
    return match[1] if telling else None


def endings(names):
    """Return the full name for each ending that one name alone has, among those with the fewest parts.

    So `explain_pair` is the function, and the methods of that name are reached from their classes.
    """
    found = {}
    for name in names:
        parts = name.split(".")
        for k in range(len(parts)):
            found.setdefault(".".join(parts[k:]), {}).setdefault(len(parts), set()).add(name)
    shortest = {end: full[min(full)] for end, full in found.items()}
    return {end: full.pop() for end, full in shortest.items() if len(full) == 1}


class TrimCode(SphinxPostTransform):
    """Take off the empty line at the end of code, which only the tests need."""

    default_priority = 20

    def run(self, **kwargs):
        """Go through the blocks of code on a page."""
        for block in self.document.findall(nodes.literal_block):
            if block.rawsource == block.astext():
                block.rawsource = block.astext().rstrip()
                block.children = [nodes.Text(block.rawsource)]


class MarkTables(SphinxPostTransform):
    """Mark cells with a number, which are not wrapped, tables of numbers, and tables of words.

    Tables of numbers are set small, and tables of words are lists on a phone.
    """

    default_priority = 20

    def run(self, **kwargs):
        """Go through the tables on a page."""
        for table in self.document.findall(nodes.table):
            body = next(table.findall(nodes.tbody))
            cells = list(body.findall(nodes.entry))
            numbers = [cell for cell in cells if NUMBER.fullmatch(cell.astext().strip())]
            for cell in numbers:
                cell["classes"].append("number")
            if len(numbers) > len(cells) / 2:
                table["classes"].append("numbers")
            if not numbers and len(next(body.findall(nodes.row))) > 2:
                table["classes"].append("words")


class DescribeThumbnails(SphinxPostTransform):
    """Give the small pictures of the gallery the titles of their pages as texts for those who do not see."""

    default_priority = 20

    def run(self, **kwargs):
        """Go through the pictures on a page."""
        for image in self.document.findall(nodes.image):
            example = re.search(r"sphx_glr_(plot_\w+)_thumb", image["uri"])
            if example and not image.get("alt"):
                image["alt"] = self.env.titles[f"gallery/{example[1]}"].astext()


def keep_panels(block, block_vars, gallery_conf):
    """Take the figures of an example as ever, and keep one panel of each for the thumbnail.

    It is the first, or the one whose number, from 0, a comment ``sphinx_gallery_thumbnail_panel`` gives.
    """
    from matplotlib import pyplot
    from sphinx_gallery.scrapers import matplotlib_scraper

    PANELS.mkdir(parents=True, exist_ok=True)
    example = Path(block_vars["src_file"])
    drawn = len(block_vars["image_path_iterator"])
    for number, name in enumerate(pyplot.get_fignums(), drawn + 1):
        panel = pyplot.figure(name).axes[setting_of(example, "panel", 0)]
        save_panel(panel, PANELS / f"{example.stem}_{number}.png")
    return matplotlib_scraper(block, block_vars, gallery_conf)


def setting_of(example, name, otherwise):
    """Return the number that a comment in an example gives for its thumbnail."""
    found = re.search(
        rf"^ *# sphinx_gallery_thumbnail_{name} = (\d+)$", example.read_text(encoding="utf-8"), re.MULTILINE
    )
    return int(found[1]) if found else otherwise


def save_panel(panel, path):
    """Save the part of a figure that one panel takes, with its title and labels."""
    figure = panel.figure
    figure.canvas.draw()
    box = panel.get_tightbbox().padded(8).transformed(figure.dpi_scale_trans.inverted())
    figure.savefig(path, bbox_inches=box, dpi=150)


def draw_thumbnails(app):
    """Make the thumbnail of each example that was run from the panel that was kept."""
    from sphinx_gallery.utils import scale_image

    size = app.config.sphinx_gallery_conf["thumbnail_size"]
    for example in (DOCS.parent / "examples").glob("plot_*.py"):
        panel = PANELS / f"{example.stem}_{setting_of(example, 'number', 1)}.png"
        if panel.exists():
            scale_image(panel, PANELS.parent / "thumb" / f"sphx_glr_{example.stem}_thumb.png", *size)


def show_defaults(app, what, name, object_, options, lines):
    """Write the default of each parameter behind its type, as the signature has it."""
    if what not in ("class", "function", "method"):
        return
    try:
        parameters = inspect.signature(object_).parameters
    except (TypeError, ValueError):
        return
    for k, line in enumerate(lines):
        match = re.fullmatch(r"(\w+) : (.+)", line)
        parameter = parameters.get(match[1]) if match else None
        is_told = parameter is None or parameter.default in (parameter.empty, None) or "default" in line
        if not is_told and not callable(parameter.default):
            lines[k] = f"{line}, default {written(parameter.default)}"


def written(value):
    """Write a default as types do: text between double quotation marks."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def set_mathematics(app, what, name, object_, options, lines):
    """Set the formulas of a docstring as mathematics."""
    lines[:] = set_formulas("\n".join(lines)).split("\n")


def draw_displays(app):
    """Draw each display by the example of its docstring."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from rankwise import plotting

    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in plotting.__all__:
        examples = doctest.DocTestParser().get_examples(getattr(plotting, name).__doc__)
        exec("".join(example.source for example in examples), {})
        pyplot.gcf().savefig(PICTURES / f"{name}.png", dpi=110, bbox_inches="tight")
        pyplot.close("all")


def setup(app):
    """Register all of it."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("source-read", leave_out_of_search)
    app.connect("source-read", link_gallery)
    app.connect("autodoc-process-docstring", set_mathematics, priority=400)  # before numpydoc
    app.add_post_transform(LinkNames)
    app.add_post_transform(TrimCode)
    app.add_post_transform(MarkTables)
    app.add_post_transform(DescribeThumbnails)
    app.connect("autodoc-process-docstring", show_defaults, priority=400)
    app.connect("builder-inited", draw_displays, priority=100)
    app.connect("builder-inited", draw_thumbnails, priority=900)  # after the gallery
    return {"parallel_read_safe": True, "parallel_write_safe": True}
