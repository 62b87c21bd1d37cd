"""Draw the wordmark and the icon, in colours for light and dark grounds: python docs/wordmark.py."""

from pathlib import Path

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath

FOLDER = Path(__file__).parent / "_static"
FONT = FontProperties(family="DejaVu Sans", weight="bold")
NODES = {(12, 34): "#2a78b8", (36, 34): "#2a78b8", (24, 10): "#e07b39"}  # two nodes agree, one differs
FACTORS = [(24, 34), (18, 22), (30, 22)]
COLOURS = {"wordmark.svg": ("#1d2a38", "#5d7388"), "wordmark-dark.svg": ("#f2f5f8", "#9fb3c6")}
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img"><title>neuralfactors</title>'


def graph(line):
    """A factor graph: three nodes, a square for each factor between two of them."""
    parts = [f'<path d="M12 34H36L24 10Z" fill="none" stroke="{line}" stroke-width="2.4" stroke-linejoin="round"/>']
    parts += [f'<rect x="{x - 3}" y="{y - 3}" width="6" height="6" rx="1" fill="{line}"/>' for x, y in FACTORS]
    parts += [f'<circle cx="{x}" cy="{y}" r="6.2" fill="{fill}"/>' for (x, y), fill in NODES.items()]
    return "".join(parts)


def letters(text, x, baseline, size):
    """The outline of a text as the commands of an SVG path, and where it ends; no font is needed to show it."""
    outline = TextPath((0, 0), text, size=size, prop=FONT)
    names = {Outline.MOVETO: "M", Outline.LINETO: "L", Outline.CURVE3: "Q", Outline.CURVE4: "C", Outline.CLOSEPOLY: "Z"}
    commands = []
    for points, code in outline.iter_segments(curves=True, simplify=False):
        pairs = points.reshape(-1, 2) if code != Outline.CLOSEPOLY else ()
        commands.append(names[code] + " ".join(f"{x + a:.2f} {baseline - b:.2f}" for a, b in pairs))
    return "".join(commands), x + outline.get_extents().x1


def wordmark(ink, line):
    neural, middle = letters("neural", 50, 32, 25)
    factors, end = letters("factors", middle + 2, 32, 25)
    head = HEAD.format(box=f"0 0 {end + 4:.0f} 44")
    return f'{head}{graph(line)}<path d="{neural}" fill="{ink}"/><path d="{factors}" fill="{line}"/></svg>\n'


def main():
    for name, colours in COLOURS.items():
        (FOLDER / name).write_text(wordmark(*colours), encoding="utf-8")
    (FOLDER / "favicon.svg").write_text(f"{HEAD.format(box='2 1 44 42')}{graph('#5d7388')}</svg>\n", encoding="utf-8")


if __name__ == "__main__":
    main()
