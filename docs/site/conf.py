# SPDX-License-Identifier: Apache-2.0
"""Settings of the documentation site, which `make site` builds with Sphinx from the guides as they are.

The source directory is the root of the clone, so that links between guides, experiments and labs stay as they
are in the files. The side bar follows the tables of docs/index.md: a guide in one of its sections is in the
side bar.
"""

import re
from pathlib import Path
from typing import ClassVar

from pygments.lexer import inherit
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.special import TextLexer
from pygments.token import Name
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]

project = "Railyard"
html_title = "Railyard"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "experiments/*/README.md", "labs/README.md", "labs/*/README.md"]
exclude_patterns = [".*", "build", "dist", "results"]
myst_heading_anchors = 6  # as GitHub makes them
html_theme = "furo"
html_favicon = "../../railyard/web/page/icon.svg"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "root.html"}  # leads to the guides
templates_path = ["."]
html_show_copyright = False
# Wishes are links to sections, and pages of the index appear in a section of their own.
WISHES = "I want to ..."


def sections(index: str) -> dict[str, list[str]]:
    """Return the pages of each section of docs/index.md, as paths from the root without their ending."""
    pages: dict[str, list[str]] = {}
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        if title == WISHES:
            continue
        for target in re.findall(r"\]\(([^)#]+)\.md\)", text):
            path = (ROOT / "docs" / target).resolve().relative_to(ROOT)
            pages.setdefault(title, []).append(path.as_posix())
    return pages


def adapt(_app: Sphinx, page: str, source: list[str]) -> None:
    """Turn names of guides into their titles, and append the side bar, hidden, to the first page.

    A link without a text gets the title of its page from MyST; a reader of the file sees the guide's name.
    """
    trees = sections(source[0]) if page == root_doc else {}
    source[0] = re.sub(r"\[[\w-]+\.md\]\(([^)]+)\)", r"[](\1)", source[0])
    if trees:
        labs = (ROOT / "labs").glob("*/README.md")
        trees["Labs"] = ["labs/README", *sorted(f"labs/{path.parent.name}/README" for path in labs)]
    for title, pages in trees.items():
        names = "\n".join(f"/{name}" for name in pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{names}\n```\n"


class P4Lexer(CLexer):
    """P4, which Pygments does not know: C with annotations such as @name."""

    tokens: ClassVar = {"whitespace": [(r"@\w+", Name.Decorator), inherit]}


def setup(app: Sphinx) -> None:
    """Connect `adapt`, and the languages that Pygments does not know; jq stays as it is."""
    app.connect("source-read", adapt)
    app.add_lexer("p4", P4Lexer)
    app.add_lexer("jq", TextLexer)
