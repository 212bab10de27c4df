"""Runs the scenario of this folder, twice, and says what is true of it; exit code 1 when something is not."""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def run(folder: Path) -> int:
    program = "from railyard.cli import main; main()"
    arguments = ["run", str(HERE / "scenario.yaml"), "--out", str(folder)]
    return subprocess.run([sys.executable, "-c", program, *arguments], check=False).returncode


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        codes = run(first), run(second)
        same = (first / "result.json").read_bytes() == (second / "result.json").read_bytes()
    print(f"all assertions hold: {'yes' if codes == (0, 0) else 'no'}")
    print(f"the same seed gives the same result.json, byte for byte: {'yes' if same else 'no'}")
    return 0 if codes == (0, 0) and same else 1


if __name__ == "__main__":
    sys.exit(main())
