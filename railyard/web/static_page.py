# SPDX-License-Identifier: Apache-2.0
"""A replay as a single HTML file with page, packages and recording; no server is needed.

A browser does not let a page from a file import modules by path. Therefore each module is a data URL with a
name in the page's import map, and imports of modules are rewritten to these names.
"""

from __future__ import annotations

import base64
import html
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from harness.recording.records import Kind, Record
from railyard.web.app import PACKAGES, PAGE, check_packages

__all__ = ["static_page"]

_LENGTH = struct.Struct("<I")
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"
)
_IMPORT = re.compile(r'(\bfrom\s*|\bimport\s*)"(\.{1,2}/[^"]+)"')
_STYLE = re.compile(r'<link rel="stylesheet" href="[^"]+"\s*/?>')
_BARE = {"preact": "preact.js", "preact/hooks": "hooks.js", "htm": "htm.js", "uplot": "uplot.js"}


def static_page(records: Iterable[Record], words: str = "") -> str:
    """Return a replay of records as a single HTML document.

    Args:
        records: Records of a recording, in order.
        words: Note about the recording on the page, such as that it was cut short; may be empty.

    Raises:
        OutputError: The packages of the page are not installed.
    """
    check_packages()
    records = [*records]
    imports = {name: _data(_package(file), "text/javascript") for name, file in _BARE.items()}
    imports |= {name: _data(text, "text/javascript") for name, text in _modules()}
    titles = [record.values["title"] for record in records if record.kind is Kind.HEADER]
    import_map = ",\n".join(f'"{name}": "{url}"' for name, url in imports.items())
    packed = b"".join(
        _LENGTH.pack(len(record.payload)) + bytes([record.kind]) + record.payload for record in records
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(titles[0] if titles else "Railyard")}</title>
<link rel="icon" href="{_icon()}">
<style>
{"".join(_styles())}
</style>
<script type="importmap">{{"imports": {{
{import_map}
}}}}</script>
<script type="module">import "page/main.js";</script>
</head>
<body>
<div id="app"><p class="loading">Loading the fabric…</p></div>
<script type="application/octet-stream" id="recording" data-words="{html.escape(words)}">
{base64.b64encode(zlib.compress(packed)).decode()}
</script>
</body>
</html>
"""


def _modules() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each module of the page, with imports rewritten to these names."""
    for path in sorted(PAGE.glob("**/*.js")):
        if "node_modules" in path.parts:
            continue
        page = PurePosixPath("page", path.relative_to(PAGE).as_posix())
        text = _IMPORT.sub(
            lambda match, page=page: f'{match[1]}"{_joined(page.parent, match[2])}"',
            path.read_text(encoding="utf-8"),
        )
        # The head of the document has all style sheets, so modules need not load theirs.
        yield str(page), _STYLE.sub("", text).replace("/page/icon.svg", _icon())


def _joined(folder: PurePosixPath, relative: str) -> str:
    """Join a folder and a relative path, and resolve `..`."""
    parts = [*folder.parts]
    for part in PurePosixPath(relative).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _styles() -> Iterator[str]:
    """Yield the text of all style sheets, beginning with the package uPlot."""
    yield _package("uplot.css")
    yield (PAGE / "style.css").read_text(encoding="utf-8")
    for path in sorted(PAGE.glob("*/*.css")):
        yield path.read_text(encoding="utf-8")


def _package(file: str) -> str:
    return Path(PAGE, "node_modules", PACKAGES[file]).read_text(encoding="utf-8")


def _icon() -> str:
    return _data((PAGE / "icon.svg").read_text(encoding="utf-8"), "image/svg+xml")


def _data(text: str, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
