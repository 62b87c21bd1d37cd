"""Write docs/RESULTS.md and docs/results.json from comparisons: python docs/results.py RUN...

Rows of the given runs replace those of the same set, features and name in results.json; the others stay. The page is
made from that file, and from remarks in docs/notes.md if there are any, so that one set can be computed at a time.
Accuracies are percentages in results.json, as on the page, and shares everywhere else.
"""

import argparse
import json
from pathlib import Path

from neuralfactors._experiment import Preset
from neuralfactors._experiment.procedures import LITERAL
from neuralfactors._experiment.variants import check_parameters
from neuralfactors._report import compare_with_paper, read_results
from neuralfactors._report.charts.svg import percent, plus_minus, short, signed
from neuralfactors._report.effective import shown, trained_by
from neuralfactors._report.findings import PAIRS, gains, paper_gain, points, title, verdict
from neuralfactors._report.page import SETS
from neuralfactors._report.published import PAPER, published
from neuralfactors._report.tables import MEASURES
from neuralfactors._runs import NAMES

DOCS = Path(__file__).parent
FEATURES = {
    "bow": "bag-of-words features",
    LITERAL: "bag-of-words features, the literal procedure",
    "cnn": "CNN features",
}
KEYS = {name.printed: name.key for name in NAMES.values()}
CELLS = ("pixel", "class_mean", "mean_iou")
ALONE = "not comparable: one learned from more copies"
HIGHLIGHTS = ("int+nrl", "3-layer", "neural factors")
INTRODUCTION = f"""# Results
All figures are for test images. The settings were chosen on other images, the tuning splits of the presets. Pixel accuracy
is the percentage of labelled pixels that are right; class accuracy is its mean over the classes that occur. Both are means
over seeds ± standard deviation. The seed decides the words (except with CNN features), the initial parameters, the order of
the images and, for rows that learn from only some of the images, which ones.
Seconds are those of the machine that computed them: two shared cores, no GPU. The paper is {PAPER}.

`python docs/results.py RUN...` writes this page, and [results.json](results.json) with the same figures, from the folders
that the commands below write. DATA stands for the folder of the data set. `neuralfactors report RUN` shows one of the runs
with its curves, confusions and pictures."""  # noqa: E501


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="folder of a comparison with a preset")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the two files are")
    options = parser.parse_args()
    path = options.docs / "results.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for run in options.runs:
        add_run(results, run)
    path.write_text(json.dumps(ordered(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    notes = options.docs / "notes.md"
    remarks = notes.read_text(encoding="utf-8").strip() if notes.exists() else ""
    (options.docs / "RESULTS.md").write_text(page(ordered(results), remarks), encoding="utf-8")


def add_run(results, run):
    """Put the finished rows of a comparison into `results`."""
    figures = compare_with_paper(read_results(run))
    settings = figures.run.settings
    if settings.preset not in SETS:
        raise SystemExit(f"{run} was made without a preset, so it has no place in the results")
    for problem in figures.problems:
        print(f"{run}: {problem}")
    features = LITERAL if settings.procedure == LITERAL else "cnn" if settings.uses_cnn else "bow"
    rows = results.setdefault(settings.preset, {}).setdefault(features, {})
    for row in figures.rows:
        name = NAMES[row.variant].printed
        if row.pixel.ours is None:
            print(f"{run}: {name} was left out because it has no figures")
            continue
        rows[name] = rounded(row_entry(row, figures.run))


def row_entry(row, run):
    """What results.json holds of a row."""
    entry = {}
    for key in CELLS:
        cell = getattr(row, key)
        entry |= {key: in_percent(cell.ours), f"{key}_std": in_percent(cell.spread)}
        entry[f"{key}_by_seed"] = {str(seed): in_percent(share) for seed, share in cell.by_seed.items()}
    entry["per_class"] = [in_percent(share) for share in row.per_class]
    entry["ablation"] = {part: _flat(cells) for part, cells in row.ablation.items()}
    entry["seeds"] = list(row.seeds)
    entry |= vars(row.training)
    for key in ("settings", "effective", "targets"):
        entry[key] = getattr(row, key)
    common = {"classes": [info.name for info in run.classes], "options": dict(run.settings.features)}
    return {
        **entry,
        **common,
        "mirror": run.settings.mirror,
        "varied": run.settings.varied,
        "n_train_available": run.n_train,
    }


def _flat(cells):
    pairs = [(key, in_percent(cell.ours), in_percent(cell.spread)) for key, cell in cells.items()]
    return {name: value for key, ours, spread in pairs for name, value in ((key, ours), (f"{key}_std", spread))}


def in_percent(share):
    """A share in percent, or None."""
    return None if share is None else 100 * share


def share(percentage):
    """The way back."""
    return None if percentage is None else percentage / 100


def rounded(value):
    """`value` with all numbers in it to four decimals, but for what a run was asked."""
    if isinstance(value, dict):
        asked = ("settings", "options", "effective", "targets")
        return {key: each if key in asked else rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def ordered(results):
    """`results` with sets, features and rows in the order of the paper."""
    return {
        name: {
            kind: {row: results[name][kind][row] for row in KEYS if row in results[name][kind]}
            for kind in FEATURES
            if kind in results[name]
        }
        for name in SETS
        if name in results
    }


def page(results, remarks):
    """The page RESULTS.md; `remarks` stand after the summary."""
    parts = [INTRODUCTION, summary(results), *([remarks] if remarks else [])]
    for name, kinds in results.items():
        for kind, rows in kinds.items():
            paper = published(name, kind)
            literal = kinds.get(LITERAL, {}) if kind == "bow" else {}
            parts += [
                f"## {SETS[name]}, {FEATURES[kind]}",
                rows_table(rows, paper),
                *beside_literal(rows, literal, paper),
                commands(name, kind, rows),
                *literature(paper),
                *findings(rows, paper),
                "### Synergy of the factors",
                synergy_table(rows),
                "### Class by class",
                class_table(rows, paper),
                "### Settings",
                settings_table(rows),
            ]
    return "\n\n".join(parts) + "\n"


def table(heads, lines, others="---:"):
    """A table of Markdown; the first column to the left, the `others` to the right."""
    marks = ["---"] + [others] * (len(heads) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, marks, *lines))


def beside(row, paper, name):
    """Cells of ours, the paper's and the difference, for both measures."""
    figures = paper.rows.get(KEYS[name])
    cells = []
    for key in MEASURES:
        theirs = getattr(figures, key, None)
        ours = share(row[key])
        cells += [f"{percent(ours)}{plus_minus(share(row[f'{key}_std']))}", percent(theirs)]
        cells.append(signed(None if theirs is None else ours - theirs))
    return cells


def summary(results):
    """The rows that matter most, of all sets."""
    lines = []
    for name, kinds in results.items():
        for kind, rows in kinds.items():
            paper = published(name, kind)
            shown = [row for row in HIGHLIGHTS if row in rows]
            lines += [[f"{SETS[name]}, {kind}, {row}", *beside(rows[row], paper, row)] for row in shown]
    return table(["set, features, row", "pixel %", "paper", "difference", "class %", "paper", "difference"], lines)


def rows_table(rows, paper):
    """Every row beside the paper's."""
    heads = ["row", "pixel %", "paper", "difference", "class %", "paper", "difference"]
    heads += ["seeds", "training images", "trained by", "epochs to best", "s/epoch"]
    lines = []
    for name, row in rows.items():
        images = f"{row['n_train']:.0f} of {row['n_train_available']:.0f}" if limited(row) else short(row["n_train"])
        theirs = paper.seconds_per_epoch.get(KEYS[name])
        seconds = short(row["seconds_per_epoch"]) + (f" (paper {short(theirs)})" if theirs else "")
        cells = [str(len(row["seeds"])), images, how_trained(row), short(row["best_epoch"]), seconds]
        lines.append([name, *beside(row, paper, name), *cells])
    return table(heads, lines)


def how_trained(row):
    """The optimiser of a row; of one that knows its duality gap, how far it got."""
    gap, seen = row.get("duality_gap"), row.get("seen_gap")
    told = f", duality gap {percent(gap)} %, {percent(seen)} % as inference sees it" if gap is not None else ""
    return trained_by(row["effective"]) + told


def beside_literal(rows, literal, paper):
    """The paper's figures, those of its procedure taken literally, and ours; nothing where that was not run."""
    if not literal:
        return []
    lines = []
    for name in rows:
        figures = paper.rows.get(KEYS[name])
        told = [[share(row[key]) for key in MEASURES] for row in (literal.get(name), rows[name]) if row]
        theirs = [] if figures is None else [[getattr(figures, key) for key in MEASURES]]
        cells = [" / ".join(map(percent, each)) for each in (*theirs, *told)]
        lines.append([name, *cells] if len(cells) == 3 else [name, cells[0] if theirs else "–", "–", cells[-1]])
    heads = ["row, pixel / class mean %", "paper", "its procedure, literally", "ours"]
    return ["The paper's procedure, taken literally, is described in [literal.md](literal.md).", table(heads, lines)]


def limited(row):
    """Whether a row learned from fewer images than there are."""
    return bool(row["n_train"] and row["n_train_available"] and row["n_train"] < row["n_train_available"])


def commands(name, kind, rows):
    """The commands that compute these rows again, and which rows had settings other than the preset's."""
    groups = {}
    for row, figures in rows.items():
        limit = f" --limit {figures['n_train']:.0f}" if limited(figures) else ""
        groups.setdefault((len(figures["seeds"]), limit), []).append(row)
    words = f"bow --procedure {LITERAL}" if kind == LITERAL else kind
    start = f"neuralfactors compare DATA --preset {name} --features {words}"
    lines = [
        f"$ {start} --variants '{','.join(names)}' --seeds {seeds}{limit} --out RUN"
        for (seeds, limit), names in groups.items()
    ]
    preset = preset_of(name, kind)
    others = [row for row, figures in rows.items() if not is_preset(preset, KEYS[row], figures)]
    note = f"\nRows whose settings or features differ from today's preset: {', '.join(others)}." if others else ""
    return "```console\n" + "\n".join(lines) + "\n```" + note


def preset_of(name, kind):
    """Features and settings of a set as the preset has them today."""
    preset = Preset.read(name)
    return preset.literally("bow") if kind == LITERAL else preset.features[kind]


def is_preset(preset, folder, figures):
    """Whether a row was made with the settings that the preset has."""
    parameters = check_parameters(preset.parameters)  # by names of folders
    settings = {**parameters.get("*", {}), **parameters.get(folder, {})}
    asked = {"settings": settings, "options": preset.options, "mirror": preset.mirror, "varied": preset.varied}
    return all(figures.get(key, 0) == value for key, value in asked.items())  # older rows do not say "varied"


def literature(paper):
    """The table of other people's figures that the paper prints, if it does."""
    if not paper.others:
        return []
    lines = [[name, percent(figures.pixel), percent(figures.class_mean)] for name, figures in paper.others.items()]
    return ["Other models that the paper lists:", table(["model", "pixel %", "class %"], lines)]


def findings(rows, paper):
    """Differences between two rows, seed by seed, and what they say; nothing where no two rows can be compared."""
    by_folder = {KEYS[name]: row for name, row in rows.items()}
    if not any({better, worse} <= by_folder.keys() for _, better, worse in PAIRS):
        return []
    lines = []
    for claim, better, worse in PAIRS:
        pair = [by_folder.get(folder, {}) for folder in (better, worse)]
        if all(pair) and copies(pair[0]) != copies(pair[1]):
            lines.append([title(claim, better, worse), ALONE, "–", "0", paper_gain(paper, better, worse)])
            continue
        ours = [gains(*map(shares, (row.get(f"{key}_by_seed", {}) for row in pair))) for key in MEASURES]
        told = [verdict(ours), points(ours), str(len(ours[0])), paper_gain(paper, better, worse)]
        lines.append([title(claim, better, worse), *told])
    note = (
        "Differences in points, pixel / class mean, between runs of the same seed. A finding holds if every seed is "
        "better by both measures, holds on average if both means are, and holds in part if the mean of one measure is."
    )
    return ["### The paper's findings", note, table(["finding", "here", "ours", "seeds", "paper"], lines)]


def copies(row):
    """What a row learned from beside the training images: whether mirror images, and how many varied ones of each."""
    return row["mirror"], row.get("varied", 0)


def shares(by_seed):
    """A figure with each seed, from percentages."""
    return {seed: share(value) for seed, value in by_seed.items()}


def synergy_table(rows):
    """Accuracy with one kind of factor alone, and with both."""
    lines = []
    for name, row in rows.items():
        parts = row["ablation"]
        if name != "unary" and parts:
            lines.append([name, *(_both(parts[part]) for part in ("unary", "interaction", "joint"))])
    note = "Pixel / class mean with only one kind of factor, the other set to zero, and with both."
    return note + "\n\n" + table(["row", "unary only", "interactions only", "both"], lines)


def _both(figures):
    return " / ".join(percent(share(figures[key])) + plus_minus(share(figures[f"{key}_std"])) for key in MEASURES)


def class_table(rows, paper):
    """Accuracy of each class, with the paper's in brackets."""
    classes = next(iter(rows.values()))["classes"]
    lines = []
    for label, info in enumerate(classes):
        cells = []
        for name, row in rows.items():
            figures = paper.rows.get(KEYS[name])
            theirs = figures.per_class.get(info.lower()) if figures else None
            ours = row["per_class"][label]
            cells.append(percent(share(ours), 0) + ("" if theirs is None else f" ({percent(theirs, 0)})"))
        lines.append([info, *cells])
    note = "Percent of each class's pixels, the paper's in brackets; – where the class does not occur."
    return note + "\n\n" + table(["class", *rows], lines)


def settings_table(rows):
    """What the rows were made with, setting by setting, and which rows also learned from mirror images."""
    cells = {name: shown(row["effective"], row["targets"]) for name, row in rows.items()}
    names = dict.fromkeys(setting for found in cells.values() for setting in found)
    lines = [[setting, *(found.get(setting, "–") for found in cells.values())] for setting in names]
    mirrored = [name for name, row in rows.items() if row["mirror"]]
    who = "All rows" if len(mirrored) == len(rows) else ", ".join(mirrored)
    note = f"{who} also learned from mirror images. " if mirrored else ""
    varied = [f"{name} from {row['varied']:.0f}" for name, row in rows.items() if row.get("varied")]
    note += f"Copies of every image at other sizes, gammas and saturations: {', '.join(varied)}. " if varied else ""
    options = ", ".join(f"{key} {value}" for key, value in next(iter(rows.values()))["options"].items())
    note += f"Features: {options}. Pairs are those of the unary and of the interaction factor."
    return note + "\n\n" + table(["setting", *rows], lines, "---")


if __name__ == "__main__":
    main()
