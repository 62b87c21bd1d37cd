"""Write docs/INFERENCE.md and docs/inference.svg from docs/inference.json: python docs/inference.py

`benchmarks/uai.py --record docs/inference.json` writes that file; the page says with which options.
"""

import argparse
import json
import math
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
COLOURS = {"auto": "C0", "trws": "C1", "alpha-expansion": "C2", "exact": "C3", "toulbar2": "C4"}
AT_LIMITS = ("exact", "toulbar2")  # a run for each time; one run of the others tells how they got on
FLOOR = 1e-3  # per cent: below it the axis of the picture is linear
INTRODUCTION = """# Inference on public problems
{count} MAP problems that others published in UAI format, in {families} families. Every method has one thread and
the same wall-clock time for each problem; reading the file is not counted.

| figure | what it is |
| --- | --- |
| gap | 100 · (best − score) / \\|best\\|, in per cent: how far a score is below the best known |
| bound gap | 100 · (bound − best) / \\|best\\|, in per cent: how far the proved bound is above it |
| proved | share of the problems whose labelling is proved optimal, in per cent |

All are means over the problems of a family. Where the best score is 0, differences are in per cent of 1.

**Best known.** The best score on record; [the list](#best-scores-known) says who found it. Where there is no
proof, many of these scores come from `auto` itself. A gap of 0 then says that nothing better is known, not that
nothing better exists.

**What was tuned on these problems.** The rules by which `auto` divides its effort (`kWorthwhile`, `kStalled` and
`kLoose` in `cpp/search/auto.hpp`) were set while looking at these {count} problems, at 22 learned ones and at
generated grids, planar and random graphs, so expect somewhat less on others. The other half of these
families was kept apart and never looked at. Tabu search and rounding over triplets (`cpp/search/tabu_runs.hpp`,
`cpp/search/portfolio.hpp`) were set while looking at half of the grids, object detection, protein folding and
constraint problems here, and at generated grids, colourings and frequency assignments. Elimination in sweeps, and the
half of the effort that labellings get (`cpp/search/elimination_order.hpp`, `cpp/search/portfolio.hpp`), were set while
looking at `grid40x40.f2.wrap`; how long the default searches (`cpp/search/auto.hpp`), at object detection."""
METHODS = """## How it was measured
- `auto`, `trws` and `alpha-expansion` ran once, with a limit of {seconds:g} seconds. Their callback tells what
  they knew at shorter times. A method that ends early keeps its result.
- `exact` and toulbar2 report nothing on the way. They ran once for each time limit, until a run ended by itself.
- toulbar2 is called through pytoulbar2 on the whole problem, in a process of its own, with the options that
  `exact` gives it and without a labelling to start from. Its limits are whole seconds. Its time includes building
  the network from Python, but not the start of the process. Its result counts as proved when its search was
  complete, which leaves open what rounding scores to whole numbers of 51 bits may change.
- Where `auto` has not reached the reference labelling after that, it ran once more, with a limit of 30 seconds.
- Steps are not cut short. Where a method took over a tenth longer than its limit, the mean time taken is in
  brackets.

| | |
| --- | --- |
| machine | {machine}; shared with other programs, load average {load:g} including the benchmark itself |
| versions | {versions}; commit {commit} |
| command | `{command}` with the release build of `make bench`, then `python docs/inference.py` |"""
CELLS = """Cells: mean gap / proved, both in per cent; – where no problem has a labelling yet. The last column is
the mean bound gap after the longest time, in per cent."""
REFERENCE = """Scores are natural logarithms. The reference is the labelling published with a problem, which a
solver found in 30 seconds."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the files are")
    docs = parser.parse_args().docs
    record = json.loads((docs / "inference.json").read_text(encoding="utf-8"))
    (docs / "INFERENCE.md").write_text(page(record), encoding="utf-8")
    draw(record, docs / "inference.svg")


def families(record):
    """The problems by family, each as {name: problem}."""
    groups = {}
    for name, problem in record["problems"].items():
        family, _, own = name.partition("/")
        groups.setdefault(family, {})[own] = problem
    return groups


def page(record):
    """The page INFERENCE.md."""
    groups = families(record)
    parts = [
        INTRODUCTION.format(count=len(record["problems"]), families=len(groups)),
        "![Mean gap against time, a panel for each family](inference.svg)",
        "## Without a time limit",
        "`auto` as `solve` calls it by default. It ends when further effort stops paying off.",
        default_table(groups),
        "## With a time limit",
        CELLS,
    ]
    for family, problems in groups.items():
        parts += [f"### {family}", sizes(problems), method_table(problems, record["times"])]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    parts += [
        "## Targets",
        targets_table(record["targets"]),
        *(f"- {note}" for note in record["notes"]),
        METHODS.format(command=command(record), **(record | {"versions": versions})),
        "## Best scores known",
        REFERENCE,
        best_table(record["problems"], record["times"][-1]),
    ]
    return "\n\n".join(parts) + "\n"


def command(record):
    """How the benchmark was called."""
    seconds = "" if record["seconds"] == 10 else f" --seconds {record['seconds']:g}"
    return f"python benchmarks/uai.py{seconds} --update --record docs/inference.json"


def table(heads, lines):
    """A table of Markdown; the first column to the left, the others to the right."""
    marks = ["---"] + ["---:"] * (len(heads) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, marks, *lines))


def percent_above(high, low, best):
    """How far `high` is above `low` in per cent of the best score; rounding is no difference."""
    if math.isclose(high, low, rel_tol=1e-9, abs_tol=1e-9):
        return 0.0
    return 100 * max(0.0, high - low) / (abs(best) or 1.0)


def gap(point, problem):
    """The gap of a point [time, score, bound, proved, seconds]; None if there is no labelling."""
    best = problem["best"]["score"]
    return None if point[1] is None else percent_above(best, point[1], best)


def bound_gap(point, problem):
    """The bound gap of a point; None if there is no bound."""
    best = problem["best"]["score"]
    return None if point[2] is None else percent_above(point[2], best, best)


def mean(values):
    """The mean of what is not None; None if nothing is left."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def number(value):
    """Three digits of a percentage; – for None."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 or value == 0 else f"{value:.3g}" if value >= 1e-3 else "<0.001"


def mean_and_missing(values):
    """The mean as text, and of how many problems there is no value."""
    missing = sum(value is None for value in values)
    note = f" ({missing} without)" if 0 < missing < len(values) else ""
    return number(mean(values)) + note


def points_at(problems, method, time):
    """Pairs of point and problem at a time, or None where a method was not measured on all problems.

    What a method knows holds until its next point.
    """
    pairs = []
    for problem in problems.values():
        earlier = [point for point in problem["curves"].get(method, []) if point[0] <= time]
        if not earlier:
            return None
        pairs.append((earlier[-1], problem))
    return pairs


def cell(problems, method, time):
    """Mean gap and share proved at a time, with the time really taken where that was longer."""
    pairs = points_at(problems, method, time)
    if pairs is None:
        return ""
    gaps = mean_and_missing([gap(*pair) for pair in pairs])
    proved = 100 * mean([point[3] for point, _ in pairs])
    taken = mean([point[4] for point, _ in pairs])
    note = f" ({taken:.2g} s)" if taken > 1.1 * time else ""
    return f"{gaps} / {proved:.0f}{note}"


def method_table(problems, times):
    """All methods on one family."""
    lines = []
    for method in COLOURS:
        cells = [cell(problems, method, time) for time in times]
        if any(cells):
            pairs = points_at(problems, method, times[-1]) or []
            name = method if method == "toulbar2" else f"`{method}`"
            lines.append([name, *cells, mean_and_missing([bound_gap(*pair) for pair in pairs])])
    return table(["method", *(f"{time:g} s" for time in times), "bound gap"], lines)


def sizes(problems):
    """One sentence on the problems of a family."""
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    ranges = []
    for key in ("nodes", "edges", "labels"):
        values = [problem[key] for problem in problems.values()]
        low, high = min(values), max(values)
        ranges.append(f"{low} {key}" if low == high else f"{low} to {high} {key}")
    return f"{count}: {', '.join(ranges)}."


def default_table(groups):
    """`auto` by default, family by family."""
    lines = []
    for family, problems in groups.items():
        pairs = [(problem["default"], problem) for problem in problems.values()]
        proved = 100 * mean([point[3] for point, _ in pairs])
        seconds = [point[4] for point, _ in pairs]
        times = [f"{value:.2g}" for value in (mean(seconds), max(seconds))]
        figures = [mean_and_missing([measure(*pair) for pair in pairs]) for measure in (gap, bound_gap)]
        lines.append([family, str(len(problems)), *times, figures[0], f"{proved:.0f}", figures[1]])
    return table(["family", "problems", "mean s", "longest s", "gap %", "proved %", "bound gap %"], lines)


def targets_table(targets):
    """What was asked for, and whether it was reached."""
    lines = []
    for row in targets:
        value = "–" if row["value"] is None else f"{row['value']:.3g}"
        asked = f"{'≥' if row['at_least'] else '≤'} {row['target']:g}"
        lines.append([f"{row['case']}: {row['metric']}", value, asked, "holds" if row["holds"] else "**misses**"])
    return table(["target", "value", "asked", ""], lines)


def best_table(problems, longest):
    """Every problem with its best score, who found it, and how near `auto` came."""
    lines = []
    for name, problem in problems.items():
        best, reference = problem["best"], problem["reference"]
        (point, _), *_ = points_at({name: problem}, "auto", longest)
        cells = [f"{best['score']:.4f}", best["by"], "yes" if best["proved"] else "no"]
        lines.append([name, *cells, "" if reference is None else f"{reference:.4f}", number(gap(point, problem))])
    return table(["problem", "score", "by", "proved", "reference", f"`auto`: gap % after {longest:g} s"], lines)


def draw(record, path):
    """The picture: mean gap against time."""
    groups = families(record)
    rows = math.ceil(len(groups) / 4)
    with plt.rc_context({"svg.hashsalt": "inference", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(rows, 4, figsize=(12, 2.8 * rows), layout="constrained", squeeze=False)
        for axis in axes.flat[len(groups) :]:
            axis.set_axis_off()
        for axis, (family, problems) in zip(axes.flat, groups.items(), strict=False):
            highest = FLOOR
            for order, (method, colour) in enumerate(COLOURS.items()):
                xs, ys = curve(problems, method, record["seconds"])
                axis.plot(xs, ys, color=colour, label=method, zorder=9 - order, **style(method))
                highest = max([highest, *ys])
            axis.set(title=f"{family} ({len(problems)})", xscale="log", xlim=(1e-3, 2 * record["seconds"]))
            axis.set_yscale("symlog", linthresh=FLOOR)
            axis.set_ylim(-FLOOR / 3, 3 * highest)
            axis.grid(alpha=0.3)
        figure.supxlabel("seconds")
        figure.supylabel("mean gap to the best known, %")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(COLOURS), frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def style(method):
    """Lines for what was watched, points for what ran once for each limit."""
    return {"marker": "o", "linestyle": ":", "markersize": 4} if method in AT_LIMITS else {"drawstyle": "steps-post"}


def curve(problems, method, longest):
    """Times and mean gaps of a method, from when it has a labelling of every problem of the family."""
    times = {point[0] for problem in problems.values() for point in problem["curves"].get(method, [])}
    xs, ys = [], []
    for time in sorted(times | ({longest} if times else set())):
        pairs = points_at(problems, method, time)
        if pairs is None or any(point[1] is None for point, _ in pairs):
            continue
        xs.append(mean([point[4] for point, _ in pairs]) if method in AT_LIMITS else time)
        ys.append(mean([gap(*pair) for pair in pairs]))
    return xs, ys


if __name__ == "__main__":
    main()
