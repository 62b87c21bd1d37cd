"""Make gains.md of gains.json, which `benchmarks/context.py --json` writes."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
HEAD = """# What context adds to CNN features
The default joint model of regions with CNN features, beside its own unary factor trained alone on the same
regions{regions}.
The former default had unmerged regions without features of their boundaries, and trained all factors together. Pixel /
class-mean accuracy in percent; gains in points.

"""
TAIL = """
The aims are mean gains of at least +1.0 / +2.0 over the unary network, and +0.3 / +0.5 over the former default. {draws}
of training images, none of which a default was chosen on: so many to learn from, and so many others to judge by. Test
images are not used.

The page is made by `python docs/gains.py`, the figures by
`python benchmarks/context.py{options} --json docs/gains.json`.
"""
SETS = {"msrc21": "MSRC-21", "kitti": "KITTI", "siftflow": "SIFT Flow"}
MODELS = {"former": "former default", "unary": "unary network", "joint": "joint"}
RIVALS = {"unary": "joint less unary", "former": "joint less former"}
MEASURES = ("pixels", "class mean")


def pair(found, text, form):
    """Both figures of a metric whose name `text` completes, times 100."""
    return " / ".join(f"{100 * found[text.format(measure)]:{form}}" for measure in MEASURES)


def page(rows):
    """The page of the benchmark's rows."""
    cases = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["metric"]] = row["value"]
    heads = ["images", *MODELS.values(), *RIVALS.values()]
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 1)}"]
    for case, found in cases.items():
        name, _, counts = case.partition(", ")
        cells = [pair(found, f"{model}, {{}}", ".1f") for model in MODELS]
        cells += [pair(found, f"joint less {rival}, {{}}", "+.1f") for rival in RIVALS]
        lines.append(f"| {SETS[name]}, {counts} | {' | '.join(cells)} |")
    draws, regions = (round(next(iter(cases.values()))[name]) for name in ("draws", "regions"))
    named = ",".join(case.partition(", ")[0] for case in cases)
    options = f" --draws {draws} --sets {named}" + (f" --regions {regions}" if regions else "")
    asked = f", {regions} an image instead of as many as the labels ask for" if regions else ""
    drawn = "One draw" if draws == 1 else f"Means of {draws} draws"
    return HEAD.format(regions=asked) + "\n".join(lines) + "\n" + TAIL.format(draws=drawn, options=options)


if __name__ == "__main__":
    (FOLDER / "gains.md").write_text(page(json.loads((FOLDER / "gains.json").read_text())), encoding="utf-8")
