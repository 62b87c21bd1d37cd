"""Record a session of the command line as an animated SVG, docs/figures/recording.svg: python docs/recording.py."""

import html
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from neuralfactors.datasets import write_scenes

OUT = Path(__file__).parent / "figures" / "recording.svg"
COMMANDS = [
    "neuralfactors train photos --out runs/photos",
    "neuralfactors predict runs/photos new/scene.png --out maps",
    "neuralfactors evaluate runs/photos photos --split test",
    "neuralfactors report runs/photos",
]
N_SCENES, SECONDS, WIDTH, LINE = 60, 20, 100, 19
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>neuralfactors train, predict, evaluate and report in a terminal</title>
<style>
text {{ font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d8dee6; white-space: pre; }}
.command {{ fill: #8fd18a; }}
@media (prefers-reduced-motion: no-preference) {{ .line {{ visibility: hidden; animation-duration: {seconds}s;
 animation-iteration-count: infinite; animation-timing-function: step-end; }} }}
{keyframes}
</style>
<rect width="100%" height="100%" rx="8" fill="#1b222b"/>
"""


def record(folder):
    """(seconds, text, is a command) of every line of the session; waiting between lines is what it was."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NEURALFACTORS_CACHE": str(folder / "cache")}
    program, start, lines = [sys.executable, "-m", "neuralfactors"], time.monotonic(), []
    for command in COMMANDS:
        lines.append((time.monotonic() - start, f"$ {command}", True))
        with subprocess.Popen(
            [*program, *command.split()[1:]],
            cwd=folder, env=environment, text=True, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            lines += [(time.monotonic() - start, line.rstrip(), False) for line in process.stdout if line.strip()]
        if process.returncode:
            raise RuntimeError(f"{command} failed")
    return lines


def squeezed(lines):
    """Times within SECONDS: long waits are cut, a command appears a moment before its output, the end stays a while."""
    times, now = [], 0.5
    for k, (seconds, _, _) in enumerate(lines):
        wait = seconds - lines[k - 1][0] if k else 0.0
        now += min(max(wait, 0.12), 2.5)
        times.append(now)
    return [0.8 * SECONDS * each / max(times) for each in times]


def shortened(lines):
    """The lines without progress bars and the matrix of confusion; long ones are broken."""
    for seconds, text, is_command in lines:
        if not text.lstrip()[:1].isdigit() and not any(word in text for word in ("━", "Confusion")):
            yield from ((seconds, part, is_command) for part in textwrap.wrap(text, WIDTH, drop_whitespace=False))


def draw(lines):
    """The SVG: every line becomes visible at its time."""
    keyframes, texts = [], []
    for k, (at, (_, text, is_command)) in enumerate(zip(squeezed(lines), lines, strict=True)):
        share = 100 * at / SECONDS
        keyframes.append(f"@keyframes l{k} {{ 0% {{ visibility: hidden }} {share:.1f}% {{ visibility: visible }} }}")
        kind = "line command" if is_command else "line"
        words = html.escape(text)
        place = f'style="animation-name: l{k}" x="16" y="{30 + LINE * k}"'
        texts.append(f'<text class="{kind}" {place} xml:space="preserve">{words}</text>')
    size = {"width": 32 + int(7.85 * WIDTH), "height": 30 + LINE * len(lines)}
    head = HEAD.format(**size, seconds=SECONDS, keyframes="\n".join(keyframes))
    return head + "\n".join(texts) + "\n</svg>\n"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_scenes(folder / "photos", N_SCENES)
        (folder / "new").mkdir()
        (folder / "new" / "scene.png").write_bytes(min((folder / "photos" / "images").iterdir()).read_bytes())
        lines = list(shortened(record(folder)))
    OUT.write_text(draw(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
