# SPDX-License-Identifier: Apache-2.0
"""The documentation site: its side bar has every guide, and its search finds a word without a server."""

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
SPHINX = ["-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-c", "docs/site"]
pytest.importorskip("sphinx", reason="Sphinx is not installed: run `make site`")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, *SPHINX, "-d", str(folder / "cache"), ".", str(folder / "pages")]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder / "pages"


@pytest.mark.long
def test_the_side_bar_leads_to_every_guide_experiment_and_lab(site: Path):
    sources = ("*.md", "docs/**/*.md", "experiments/*/README.md", "labs/**/README.md")
    guides = [path.relative_to(ROOT) for pattern in sources for path in ROOT.glob(pattern)]
    pages = {guide.with_suffix(".html") for guide in guides}
    index = (site / "docs" / "index.html").read_text()
    side_bar = index.split('class="sidebar-tree"')[1].split("</aside>")[0]
    links = re.findall(r'class="reference internal" href="([^"#]+)"', side_bar)
    reached = {(site / "docs" / link).resolve().relative_to(site.resolve()) for link in links}
    assert {str(page) for page in pages - reached} == {"docs/index.html"}


@pytest.mark.long
def test_a_word_is_found_without_a_server(site: Path, browser: "Browser"):
    from playwright.sync_api import expect

    page = browser.new_page()
    page.goto((site / "index.html").as_uri())  # leads to the guides
    page.locator(".sidebar-search").fill("valiant")
    page.keyboard.press("Enter")
    result = page.locator("#search-results a", has_text="A forwarding scheme of your own")
    expect(result).to_be_visible()
    result.click()
    expect(page.locator("h1")).to_contain_text("A forwarding scheme of your own")
    page.close()
