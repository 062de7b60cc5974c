"""Print a bash block of the README, so that CI runs what a reader copies.

python3 .ci/blocks.py main-job | tests
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMES = ("main-job", "tests")  # in the order of the README


def blocks(text: str) -> dict[str, str]:
    """The bash blocks by name; raises ValueError if the README has more or fewer."""
    found: list[str] = BLOCK.findall(text)
    return dict(zip(NAMES, found, strict=True))


if __name__ == "__main__":
    sys.stdout.write(blocks(README.read_text(encoding="utf-8"))[sys.argv[1]])
