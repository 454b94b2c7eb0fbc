"""Write docs/images/grade-light.svg and grade-dark.svg: what a real command prints on a terminal, for the README.

`make docs` runs this; a test fails when a picture is stale.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile
from html import escape
from importlib.resources import files
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
COMMAND = ("grade", "weather.json")
LINE, CELL, MARGIN, BAR = 18, 8.4, 18, 34  # sizes in pixels
_PAINT = re.compile(r"\x1b\[([0-9;]*)m")
_RUN = re.compile("█+|[^ █]+(?: [^ █]+)*")


class Theme(NamedTuple):
    """Colours of a terminal."""

    paper: str
    frame: str
    ink: str
    red: str
    green: str
    yellow: str
    cyan: str


THEMES = {
    "light": Theme("#ffffff", "#d0d7de", "#24292f", "#b3261e", "#1a7f37", "#8a5a00", "#0b6e8f"),
    "dark": Theme("#0d1117", "#30363d", "#e6edf3", "#ff7b72", "#56d364", "#e3b341", "#76d9f5"),
}
COLOURS = {"31": "red", "32": "green", "33": "yellow", "36": "cyan"}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def printed() -> str:
    """Return what the command prints on a terminal of 80 columns, with colours."""
    with tempfile.TemporaryDirectory() as folder:
        name = pathlib.Path(folder) / COMMAND[-1]
        name.write_bytes((files("mcproof") / "demo" / name.name).read_bytes())
        environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "80", "PYTHONUTF8": "1"}
        command = [sys.executable, "-m", "mcproof", *COMMAND]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return done.stdout.decode()


def svg(text: str, theme: Theme) -> str:
    """Return terminal output as a picture."""
    lines = [f"$ mcproof {' '.join(COMMAND)}", *text.rstrip("\n").split("\n")]
    longest = max(len(_PAINT.sub("", line)) for line in lines)
    width, height = round(longest * CELL + 2 * MARGIN), BAR + len(lines) * LINE + MARGIN
    rows = "\n".join(_row(line, BAR + (number + 1) * LINE - 4, theme) for number, line in enumerate(lines))
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="17" r="5.5" fill="{theme.frame}"/>' for n in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">\n'
        f"<title>What mcproof {' '.join(COMMAND)} prints</title>\n"
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
        f'fill="{theme.paper}" stroke="{theme.frame}"/>\n{dots}\n'
        f'<g font-family="{FONT}" font-size="14" '
        f'fill="{theme.ink}">\n{rows}\n</g>\n</svg>\n'
    )


def _row(line: str, y: int, theme: Theme) -> str:
    """Return one line as text elements, each at its column, so that neither spaces nor the font's widths matter."""
    parts, codes, column = [], "", 0
    for number, piece in enumerate(_PAINT.split(line)):
        if number % 2:
            codes = piece
            continue
        attributes = "".join(_attribute(code, theme) for code in codes.split(";"))
        for run in _RUN.finditer(piece):
            x, width = MARGIN + (column + run.start()) * CELL, len(run[0]) * CELL
            if run[0][0] == "█":
                parts.append(f'<rect x="{x:.1f}" y="{y - 13}" width="{width:.1f}" height="{LINE - 3}"{attributes}/>')
            else:
                parts.append(f'<text x="{x:.1f}" y="{y}" textLength="{width:.1f}"{attributes}>{escape(run[0])}</text>')
        column += len(piece)
    return "".join(parts)


def _attribute(code: str, theme: Theme) -> str:
    if code == "1":
        return ' font-weight="700"'
    if code == "2":
        return ' fill-opacity="0.65"'
    return f' fill="{getattr(theme, COLOURS[code])}"' if code in COLOURS else ""


def pictures() -> dict[str, str]:
    """Return every picture by its name in docs/images."""
    text = printed()
    return {f"grade-{name}.svg": svg(text, theme) for name, theme in THEMES.items()}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (IMAGES / name).write_text(picture, encoding="utf-8")
    print(f"wrote {len(THEMES)} pictures to {IMAGES}")


if __name__ == "__main__":
    main()
