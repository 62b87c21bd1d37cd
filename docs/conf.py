"""Settings of the documentation site: `make docs` builds it into build/docs."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tools")]

import mathml  # noqa: E402
import reference  # noqa: E402

import neuralfactors  # noqa: E402

project = "neuralfactors"
author = "The neuralfactors developers"
copyright = author  # noqa: A001
release = version = neuralfactors.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["notes.md"]
templates_path = ["_templates"]
default_role = "py:obj"  # what single quotes name in docstrings: a link where it is ours
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.strikethrough"]

autodoc_typehints = "none"  # docstrings have the types, with shapes
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/examples",
    "doc_module": ("neuralfactors",),
    "inspect_global_variables": False,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # a page that would load scripts from elsewhere
    "remove_config_comments": True,
    "thumbnail_size": (400, 280),
}

html_theme = "pydata_sphinx_theme"
html_title = f"neuralfactors {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "image_light": "_static/wordmark.svg",
        "image_dark": "_static/wordmark-dark.svg",
        "alt_text": "neuralfactors",
    },
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": ["copyright"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

reference.write_pages(Path(__file__).parent / "reference")


def skip_others(_, kind, __, member, skip, ___):
    """Methods that a class inherits from other packages are documented there."""
    home = getattr(member, "__module__", None) or ""
    return True if kind == "class" and callable(member) and not home.startswith("neuralfactors") else skip


def strip_ends(_, __, source):
    """Blocks of code without the empty line that ends the output of a doctest."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app):
    mathml.setup(app)
    app.connect("source-read", strip_ends)
    app.connect("autodoc-skip-member", skip_others)
