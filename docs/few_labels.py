"""Make few-labels.md and few-labels.svg of few-labels.json, which `benchmarks/few_node_labels.py --json` writes."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
HEAD = """# Few labels
A graph need not be labelled as a whole. Labels of −1 are unknown: `StructuralSVM` completes them by inference while it
learns (`void="complete"`, the default), and `predict` keeps what is known:

```python
>>> from neuralfactors import StructuralSVM, chain_graph
>>> graph, y = chain_graph([[0.0], [0.0], [1.0], [1.0]]), [0, -1, -1, 1]  # −1 where nothing is known
>>> svm = StructuralSVM().fit([graph], [y])
>>> svm.predict([graph], known=[y])[0].shape
(4,)

```

Accuracy on the nodes without label, on a citation-like graph: 7 classes, 20 noisy features, most edges within a class.
Logistic regression sees the features only, label propagation (the harmonic solution) the edges only. "Told no label" is
`predict([graph])`, without what is known.

![Accuracy against the share of labelled nodes](few-labels.svg)

"""
TAIL = """
Where most nodes are −1, each step of training tells inference a part of the labels and learns from the others, as
`predict` will be told what is known. `C="auto"` is a fifth of what it is for labelled graphs: with more, networks learn
the few labels by heart. Both rules were chosen on graphs of this kind. Figures that miss are below the better of the
two rivals.

The page is made by `python docs/few_labels.py`, the figures by
`python benchmarks/few_node_labels.py --json docs/few-labels.json`.
"""
COLOURS = {
    "logistic regression": "C7",
    "label propagation": "C1",
    "StructuralSVM((), ())": "C2",
    "StructuralSVM()": "C0",
}


def cell(row):
    """The figure of a row, and whether it misses its target; a dash where it was not measured."""
    return "–" if row is None else f"{row['value']:.3f}{'' if row['holds'] else ' (misses)'}"


def page(rows):
    """The page of the benchmark's rows."""
    rows = [row for row in rows if "seconds" not in row["metric"]]
    cases = list(dict.fromkeys(row["case"] for row in rows))
    lines = [f"| | {' | '.join(cases)} |", f"| --- |{' ---: |' * len(cases)}"]
    for metric in dict.fromkeys(row["metric"] for row in rows):
        found = {row["case"]: row for row in rows if row["metric"] == metric}
        cells = [cell(found.get(case)) for case in cases]
        name = re.sub(r"StructuralSVM\(.*\)", r"`\g<0>`", metric)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + "\n" + TAIL


def draw(rows, path):
    """The picture: accuracy against the share of labelled nodes; logistic regression, far below, has its own axis."""
    with plt.rc_context({"svg.hashsalt": "few-labels", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(2, sharex=True, figsize=(6, 4), height_ratios=(3, 1), layout="constrained")
        for metric, colour in COLOURS.items():
            found = [row for row in rows if row["metric"] == metric]
            shares = [int(re.search(r"(\d+)%", row["case"])[1]) for row in found]
            axis = axes[int(metric == "logistic regression")]
            axis.plot(shares, [100 * row["value"] for row in found], "o-", color=colour, label=metric, markersize=4)
        for axis in axes:
            axis.grid(alpha=0.3)
            axis.legend(frameon=False, loc="lower right")
        axes[1].set(xlabel="labelled nodes, %")
        figure.supylabel("accuracy on the others, %")
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    rows = json.loads((FOLDER / "few-labels.json").read_text())
    (FOLDER / "few-labels.md").write_text(page(rows), encoding="utf-8")
    draw(rows, FOLDER / "few-labels.svg")
