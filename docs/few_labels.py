"""Make few-labels.md of few-labels.json, which `benchmarks/few_node_labels.py --json` writes."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
HEAD = """# Few labels
A graph need not be labelled as a whole. Labels of −1 are unknown: `StructuralSVM` completes them by inference while it
learns (`void="complete"`, the default), and `predict` keeps what is known:

```python
svm = StructuralSVM((), ()).fit([graph], [y])       # y holds −1 where nothing is known
labels = svm.predict([graph], known=[y])[0]
```

Accuracy on the nodes without label, on a citation-like graph: 7 classes, 20 noisy features, most edges within a class.
Logistic regression sees the features only, label propagation (the harmonic solution) the edges only.

"""
TAIL = """
Linear factors are the ones to take when labels are few: the networks of `StructuralSVM()` fit the few labelled nodes
too closely. Figures that miss are below the better of the two rivals. The page is made by `python docs/few_labels.py`,
the figures by `python benchmarks/few_node_labels.py --json docs/few-labels.json`.
"""


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
        lines.append(f"| {metric if 'SVM' not in metric else f'`{metric}`'} | {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + "\n" + TAIL


if __name__ == "__main__":
    rows = json.loads((FOLDER / "few-labels.json").read_text())
    (FOLDER / "few-labels.md").write_text(page(rows), encoding="utf-8")
