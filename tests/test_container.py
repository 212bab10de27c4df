# SPDX-License-Identifier: Apache-2.0
"""The container's files agree with each other, with the project and with the guide."""

import json
import re
import tomllib
from pathlib import Path

from railyard.web.server import ADDRESS_VARIABLE, DEFAULT_PORT, HOST_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
GUIDE = (ROOT / "docs" / "testbeds" / "container.md").read_text()


def test_the_page_is_installed_and_reached_from_outside():
    (extra,) = re.findall(r"install --no-cache-dir '/src\[(\w+)\]'", CONTAINERFILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any("uvicorn" in package for package in project["optional-dependencies"][extra])
    assert f"{HOST_VARIABLE}=0.0.0.0 {ADDRESS_VARIABLE}=http://127.0.0.1:{DEFAULT_PORT}" in CONTAINERFILE
    assert f"EXPOSE {DEFAULT_PORT} " in CONTAINERFILE
    assert f"-p 127.0.0.1:{DEFAULT_PORT}:{DEFAULT_PORT}" in GUIDE


def test_a_build_without_a_target_makes_the_plain_image():
    stages = re.findall(r"^FROM \S+(?: AS (\w+))?$", CONTAINERFILE, flags=re.MULTILINE)
    assert stages == ["build", "runtime", "lab", ""]
    assert "--target lab" in GUIDE


def test_nothing_that_is_made_here_gets_into_the_image():
    ignored = set((ROOT / ".dockerignore").read_text().splitlines())
    assert {".git", ".venv", ".vagrant", "build", "results", "lab-*", "**/node_modules", "**/*.so"} <= ignored


def test_the_development_container_opens_the_labs():
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text()
    content = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    build = content["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Containerfile"
    assert build["target"] == "lab"
    assert DEFAULT_PORT in content["forwardPorts"]
    assert content["postAttachCommand"] == "railyard lab list"
