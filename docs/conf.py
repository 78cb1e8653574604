"""Sphinx configuration: `make docs` builds the pages of this folder and runs the gallery, without network."""

import re
import sys
from importlib.util import find_spec
from os import sep
from pathlib import Path

from rankwise.estimators.completion import INTERNAL

sys.path.insert(0, str(Path(__file__).parent))

project = "rankwise"
author = "The rankwise developers"
copyright = "The rankwise developers"

extensions = [
    "extensions",  # in this folder
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas are set from a copy of MathJax, not from a server
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
# Python names in docstrings become links where they are known and code where they are not.
default_role = "py:obj"
# Quotation marks are part of values such as "exponential", and two hyphens of options.
smartquotes = False

myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_heading_anchors = 3
# The code of a page is a session that the tests run; its prompts are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
# Members of estimators that users do not need: the pages of classes leave them out.
autosummary_context = {"internal": ", ".join(sorted(INTERNAL))}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "copyfile_regex": r"index\.rst",  # the examples by task
    "image_scrapers": ("extensions.keep_panels",),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("rankwise",),
    # PyTorch is too large to be a need of the documentation: without it, its example is shown and not run.
    "filename_pattern": re.escape(sep) + ("plot_" if find_spec("torch") else "plot_(?!network)"),
    "within_subsection_order": "ExampleTitleSortKey",
    "thumbnail_size": (480, 320),
    "default_thumb_file": str(Path(__file__).parent / "_static" / "logo.svg"),  # of what was not run
    "download_all_examples": False,
    "capture_repr": ("_repr_html_",),  # what a cell prints is shown, not the name of its last object
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e6,  # times differ between machines
    "write_computation_times": False,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "rankwise"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["rankwise.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "api": [], "developers": []}
html_theme_options = {
    "logo": {"text": "rankwise", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_start": ["navbar-logo"],
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
}
