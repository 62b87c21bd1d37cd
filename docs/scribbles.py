"""Make scribbles.md of scribbles.json, which `benchmarks/scribbles.py --json` writes."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
HEAD = """# Scribbles
A label map may be mostly void: a few strokes, or a click in a picture. A region is labelled if any of its pixels is,
once less than half of the regions have a labelled pixel; `train` and `Segmenter.fit` need no option for it. Such
labels count as so many images as they would fill: the unary factor learns first, rates are those of few images, and C
is a fifth. Inference completes what is void.

Accuracy by pixels and on average over classes, in %, against what is labelled of the training images. A click labels
the region that it falls into, wherever there is a label. All models see bags of words of 300 regions an image. The
unary network is the same one without context.

"""
TAIL = """
Labels are drawn {draws}. {sets} Test images are not used.

The page is made by `python docs/scribbles.py`, the figures by
`python benchmarks/scribbles.py --draws {n_draws} --sets {names} --json docs/scribbles.json`.
"""
SETS = {
    "scenes": "The scenes are generated, 60 to learn from and 60 others.",
    "msrc21": "Of MSRC-21, every twelfth training image is learnt from, and its validation images are labelled.",
}
COLUMNS = ("unary network", "joint")


def cell(row, name):
    """Both accuracies of a model in percent, by pixels and by classes."""
    return " / ".join(f"{100 * row[f'{name}, {measure}']:.1f}" for measure in ("pixels", "classes"))


def page(rows):
    """The page of the benchmark's rows."""
    cases = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["metric"]] = row["value"]
    lines = [f"| labelled | regions | {' | '.join(COLUMNS)} |", "| --- | ---: | ---: | ---: |"]
    for case, found in cases.items():
        cells = [cell(found, name) for name in COLUMNS]
        lines.append(f"| {case} | {found['labelled regions']:.0f} | {' | '.join(cells)} |")
    n_draws = round(max(found["draws"] for found in cases.values()))
    drawn = "once" if n_draws == 1 else f"{n_draws} times, and the figures are means"
    names = [name for name in SETS if any(case.lower().replace("-", "").startswith(name) for case in cases)]
    told = {"sets": " ".join(SETS[name] for name in names), "names": ",".join(names)}
    return HEAD + "\n".join(lines) + "\n" + TAIL.format(draws=drawn, n_draws=n_draws, **told)


if __name__ == "__main__":
    (FOLDER / "scribbles.md").write_text(page(json.loads((FOLDER / "scribbles.json").read_text())), encoding="utf-8")
