"""Make reliability.md and its pictures: python docs/reliability.py [letters] [msrc21], with NEURALFACTORS_DATA set.

The figures of sets that are not named stay as they are, in reliability.json.
"""

import json
import os
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
from matplotlib import pyplot

from neuralfactors import FrankWolfeSVM, Segmenter, StructuralSVM, UnaryClassifier
from neuralfactors.datasets import ImageFolder, load_letters
from neuralfactors.metrics import Reliability, node_accuracy
from neuralfactors.plots import plot_reliability

FOLDER = Path(__file__).parent
HEAD = """# Reliability
Whether probabilities are what they say: of the labels that `predict_proba` gives 80 %, 80 % should be right. The
curves show the share that is right against the probability of the most probable label, in ten bins; the expected
calibration error is the mean distance from the diagonal.

A model that is trained for a margin says which labelling is best, not how probable it is. Its scores are turned into
probabilities p(y) ∝ exp(g(x, y) / T), whose marginals `predict_proba` returns. T is 1 until `calibrate` finds the one
that suits held-out data best:

```python
>>> from neuralfactors import FrankWolfeSVM
>>> from neuralfactors.datasets import make_chains
>>> (X, Y), (X_held_out, Y_held_out), (X_test, _) = (make_chains(20, random_state=seed) for seed in range(3))
>>> svm = FrankWolfeSVM().fit(X, Y).calibrate(X_held_out, Y_held_out)
>>> svm.predict_proba(X_test)[0].shape == (X_test[0].n_nodes, len(svm.classes_))
True

```
"""
TAIL = """
The page is made by `python docs/reliability.py`, and the diagrams by `neuralfactors.plots.plot_reliability`.
"""
SETS = {
    "letters": """Handwritten words
Chains of letters, whose marginals are exact: {train} words of fold 0 to learn from, {held} of fold 1 to calibrate on,
and {test} of the other folds to judge by.""",
    "msrc21": """MSRC-21
Graphs of regions with cycles, whose marginals are tree-reweighted pseudo-marginals: `Segmenter` on bags of words, whose
own default is the `StructuralSVM()` here. Every second training image to learn from, {train} in all, {held} validation
images to calibrate on, and every fourth test image, {test}, to judge by, pixel by pixel. One seed.
This is the second split that was tried. On the first, with half as many images to calibrate on and a unary model whose
probabilities were good already, the temperature made them worse: a few dozen pictures fix it only roughly.""",
}


def letters():
    (X, Y), folds = load_letters()
    parts = [np.flatnonzero(folds == 0), np.flatnonzero(folds == 1), np.flatnonzero(folds > 1)]
    (X0, Y0), (X1, Y1), (X2, Y2) = ([[A[n] for n in part] for A in (X, Y)] for part in parts)
    models = {
        "UnaryClassifier()": UnaryClassifier(),
        "FrankWolfeSVM()": FrankWolfeSVM(),
        "StructuralSVM()": StructuralSVM(),
    }
    rows = []
    for name, model in models.items():
        model.fit(X0, Y0)
        accuracy = node_accuracy(Y2, model.predict(X2))
        before = Reliability.of(Y2, model.predict_proba(X2))
        after = Reliability.of(Y2, model.calibrate(X1, Y1).predict_proba(X2))
        rows.append(row(name, accuracy, before, after, model.temperature_))
    return {"rows": rows, "sizes": {"train": len(X0), "held": len(X1), "test": len(X2)}}


def msrc21():
    data = ImageFolder(Path(os.environ["NEURALFACTORS_DATA"]) / "msrc21")
    describer = Segmenter().describer(data.classes)
    train = describer.learn(data["train"][::2])
    held, test = describer.describe(data["val"]), describer.describe(data["test"][::4])
    models = {"UnaryClassifier()": UnaryClassifier(), "StructuralSVM()": None}
    rows = []
    for name, model in models.items():
        segmenter = Segmenter(estimator=model).fit_graphs(describer, train)
        accuracy = segmenter.score_graphs(test).pixel_accuracy
        before = of_pixels(segmenter, test)
        after = of_pixels(segmenter.calibrate_graphs(held), test)
        rows.append(row(name, accuracy, before, after, segmenter.stages_[-1].temperature_))
    return {"rows": rows, "sizes": {"train": len(train.X), "held": len(held.X), "test": len(test.X)}}


def of_pixels(segmenter, graphs):
    """The reliability of regions, in which every pixel counts."""
    proba = [segmenter.region_proba(segmenter.potentials(graph)) for graph in graphs.X]
    pixels = [p[truth.node] for p, truth in zip(proba, graphs.truth, strict=True)]
    return Reliability.of([t.label for t in graphs.truth], pixels, weight=[t.n_pixels for t in graphs.truth])


def row(name, accuracy, before, after, temperature):
    print(f"{name}: {accuracy:.3f}, {before.expected_calibration_error:.3f}, {after.expected_calibration_error:.3f}")
    found = {"name": name, "accuracy": accuracy, "temperature": temperature}
    return found | {"before": as_json(before), "after": as_json(after)}


def as_json(reliability):
    fields = {name: np.nan_to_num(getattr(reliability, name)).tolist() for name in ("confidence", "accuracy", "share")}
    return {**fields, "error": reliability.expected_calibration_error}


def draw(key, rows):
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for panel, when, title in zip(axes, ("before", "after"), ("T = 1", "calibrated"), strict=True):
        for found in rows:
            values = [np.array(found[when][name]) for name in ("confidence", "accuracy", "share")]
            plot_reliability(Reliability(*values), axes=panel, label=found["name"])
        panel.set_title(title)
    axes[0].legend()
    mpl.rcParams["svg.hashsalt"] = key  # so that the same picture is the same file
    figure.savefig(FOLDER / f"reliability-{key}.svg", metadata={"Date": None})


def section(key, found):
    lines = [f"\n## {SETS[key].format(**found['sizes'])}", "", f"![Reliability diagrams](reliability-{key}.svg)", ""]
    lines += ["| | accuracy | calibration error, T = 1 | calibrated | T |", "| --- | ---: | ---: | ---: | ---: |"]
    for r in found["rows"]:
        errors = " | ".join(f"{r[when]['error']:.3f}" for when in ("before", "after"))
        lines.append(f"| `{r['name']}` | {r['accuracy']:.3f} | {errors} | {r['temperature']:.2f} |")
    return "\n".join(lines) + "\n"


def page(found):
    """The page of what was measured."""
    return HEAD + "".join(section(key, found[key]) for key in SETS if key in found) + TAIL


MEASURES = {"letters": letters, "msrc21": msrc21}


def main(keys):
    new, stored = {key: MEASURES[key]() for key in keys}, FOLDER / "reliability.json"
    found = (json.loads(stored.read_text()) if stored.exists() else {}) | new
    stored.write_text(json.dumps(found, indent=1) + "\n")
    for key in found:
        draw(key, found[key]["rows"])
    (FOLDER / "reliability.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))
