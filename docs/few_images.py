"""Make few-images.md and few-images.svg of few-images.json, which `benchmarks/few_labels.py --json` writes."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
HEAD = """# Few labelled images
Accuracy on {held} images of KITTI after learning from 2 to 20 others. All three models see the same CNN features of the
same regions{regions}. The unary network is the unary factor of the joint model, trained
alone. Pixel / class-mean accuracy in percent.

![Accuracy against the number of labelled images](few-images.svg)

"""
TAIL = """
{drawn} of training images, none of which a default was chosen on. Test images are not used.

The page is made by `python docs/few_images.py`, the figures by
`python benchmarks/few_labels.py{option} --json docs/few-images.json`.
"""
NAMES = {"forest": "random forest", "unary": "unary network", "joint": "joint"}
MEASURES = {"pixels": "of the pixels", "class mean": "mean over classes"}
COLOURS = {"forest": "C7", "unary": "C1", "joint": "C0"}


def by_number(rows):
    """The figures by number of images and metric."""
    found = {}
    for row in rows:
        found.setdefault(int(re.search(r"(\d+) images", row["case"])[1]), {})[row["metric"]] = row["value"]
    return found


def pair(found, text):
    """Both accuracies of a metric whose name `text` completes, in percent."""
    return " / ".join(f"{100 * found[text.format(measure)]:.1f}" for measure in MEASURES)


def signed(found, text):
    """Both gains of a metric whose name `text` completes, in points."""
    return " / ".join(f"{100 * found[text.format(measure)]:+.1f}" for measure in MEASURES)


def page(rows):
    """The page of the benchmark's rows."""
    found = by_number(rows)
    counts = next(iter(found.values()))
    heads = ["images", *NAMES.values(), "joint less unary", "in its worst draw"]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---:'] * len(heads))} |"]
    for number, figures in sorted(found.items()):
        cells = [pair(figures, f"{name}, {{}}") for name in NAMES]
        gains = [signed(figures, f"joint less unary, {{}}{of}") for of in ("", ", worst draw")]
        lines.append(f"| {' | '.join([str(number), *cells, *gains])} |")
    held, draws, regions = (round(counts[name]) for name in ("held", "draws", "regions"))
    drawn = "One draw" if draws == 1 else f"Means of {draws} draws"
    asked = f", {regions} an image" if regions else ", chosen by the labels of the images to learn from"
    option = f" --draws {draws}" + (f" --regions {regions}" if regions else "")
    head, tail = HEAD.format(held=held, regions=asked), TAIL.format(drawn=drawn, option=option)
    return head + "\n".join(lines) + "\n" + tail


def draw(rows, path):
    """The picture: both accuracies against the number of images."""
    found = sorted(by_number(rows).items())
    with plt.rc_context({"svg.hashsalt": "few-images", "svg.fonttype": "none", "font.size": 9}):
        figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
        for panel, (measure, title) in zip(panels, MEASURES.items(), strict=True):
            for name, colour in COLOURS.items():
                values = [100 * figures[f"{name}, {measure}"] for _, figures in found]
                panel.plot([n for n, _ in found], values, "o-", color=colour, label=NAMES[name], markersize=4)
            panel.set(xscale="log", xlabel="labelled images", title=title)
            panel.set_xticks([n for n, _ in found], [str(n) for n, _ in found], minor=False)
            panel.minorticks_off()
            panel.grid(alpha=0.3)
        panels[0].set_ylabel("accuracy, %")
        panels[1].legend(frameon=False, loc="lower right")
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    rows = json.loads((FOLDER / "few-images.json").read_text())
    (FOLDER / "few-images.md").write_text(page(rows), encoding="utf-8")
    draw(rows, FOLDER / "few-images.svg")
