"""How Sphinx builds the documentation: `make docs`."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

import boxthirding

sys.path.insert(0, str(Path(__file__).parent))  # where pictures.py is

project = "boxthirding"
author = "the boxthirding authors"
version = release = boxthirding.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
default_role = "literal"  # docstrings say `name`

autodoc_member_order = "bysource"
autodoc_mock_imports = ["inspect_ai", "joblib", "optuna", "sklearn"]  # in an environment of their own
autodoc_preserve_defaults = True  # time.monotonic, not <built-in function monotonic>
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

exclude_patterns = ["_pictures/**.md"]
html_theme = "furo"
html_title = "boxthirding"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_copyright = False
pygments_style = "tango"
pygments_dark_style = "monokai"


def _head_lists(lines: list[str]) -> None:
    """Make the underlined head of a list of parameters one that may stand anywhere; the list is one already."""
    for at in range(len(lines) - 1):
        if lines[at] and lines[at + 1] == "-" * len(lines[at]):
            lines[at : at + 2] = [f".. rubric:: {lines[at]}", ""]


def setup(app: Sphinx) -> None:
    """Draw the pictures first, and leave out the signature of a protocol: it is never called."""
    import pictures  # noqa: PLC0415  # beside this file

    app.connect("builder-inited", lambda _: pictures.draw_all())
    app.connect("autodoc-process-docstring", lambda *event: _head_lists(event[5]))
    app.connect("autodoc-process-signature", lambda *event: ("", event[6]) if event[5] == "(*args, **kwargs)" else None)
