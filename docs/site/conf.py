"""Sphinx for the site; tools/site stages the documents and runs it."""
project = "Attractor"
author = "The Attractor authors"
copyright = "2026, The Attractor authors"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
autodoc_typehints = "none"  # they are in the stubs, and long
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["attractor", "examples", "docs/site"]
html_theme = "furo"
html_title = "Attractor"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_theme_options = {"source_repository": "", "navigation_with_keys": True}
html_copy_source = False
html_show_sphinx = False
breathe_projects = {"attractor": "../doxygen/xml"}
breathe_default_project = "attractor"
breathe_show_include = False
primary_domain = "cpp"
highlight_language = "none"


def as_written(_app, _what, _name, _object, _options, lines):
    """Docstrings are plain text, made for help(): shown as they are."""
    lines[:] = ["::", "", *("   " + line for line in lines), ""] if lines else []


def setup(app):
    app.connect("autodoc-process-docstring", as_written)
