"""Make claims.md of claims.json: python docs/claims.py [RUN...].

Runs are folders that `neuralfactors claims` wrote with a preset. Their claims join those of the same set in
claims.json, or replace all of them where settings, seeds or images are not the same; the other sets stay.
"""

import argparse
import json
from pathlib import Path

from neuralfactors._report.page import SETS
from neuralfactors._runs.claims import claims_document
from neuralfactors._runs.documents import encode

FOLDER = Path(__file__).parent
HEAD = """# The paper's claims
Each claim is tested by a pair of models that differ in one thing only. Both sides have the same features, images, C,
class weights, epochs and seeds and, where there is one, the same regression; learning rates are chosen for each side
by as many trials on validation images. A solution that is trained on is that of the bifurcated model, written as one
network: the regression, its probabilities, and linear factors of them. One side keeps the regression as it is, the
other lets it learn; both have as many epochs again. A weak regression has seen every image once, with a small rate,
and is about as good as the paper's.

Differences are in points, with the 95 % interval of a bootstrap over test images and seeds, paired by both. A claim
holds if neither measure is worse and one interval lies above zero; it does not hold if neither is better and one lies
below; else it is undecided."""
TAIL = "`python docs/claims.py RUN...` makes this page from what the commands above write."
JUDGED = ("seeds", "n_trials", "n_images")
SHARED = ("C", "interaction_C", "max_iter", "batch_size", "void", "balance", "cost", "trainer__optimizer")
MEASURES = {"pixel": "pixel", "class_mean": "class mean"}
SYNERGIES = {
    "interaction": "over the interactions alone, as the paper has it",
    "part": "over the better part alone",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--docs", type=Path, default=FOLDER, help="where the two files are")
    options = parser.parse_args()
    path = options.docs / "claims.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for run in options.runs:
        add_run(stored, run)
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (options.docs / "claims.md").write_text(page(stored), encoding="utf-8")


def add_run(stored, run):
    """Put the claims of an experiment into `stored`."""
    report = claims_document(run).read()
    if report is None or report.settings.preset not in SETS:
        raise SystemExit(f"{run} holds no claims of a preset")
    body = encode(report)
    body["settings"]["data"], body["commands"] = "DATA", [told_command(body.pop("command"))]
    for claim, found in zip(body["claims"], report.claims, strict=True):
        claim["verdict"] = found.verdict
    former = stored.get(report.settings.preset)
    stored[report.settings.preset] = joined(former, body) if former and basis(former) == basis(body) else body


def basis(report):
    """What claims must share to stand in one table."""
    settings = {key: report["settings"][key] for key in ("features", "parameters", "splits", "limits", "mirror")}
    return settings, {key: report["shared"].get(key) for key in SHARED}, [report[key] for key in JUDGED]


def joined(former, report):
    """`report` with the claims that only the `former` one has, and the commands of both."""
    found = {(claim["claim"], claim["regression"]): claim for claim in (*former["claims"], *report["claims"])}
    commands = list(dict.fromkeys([*former["commands"], *report["commands"]]))
    return {**report, "claims": list(found.values()), "commands": commands}


def page(stored):
    """The page of all sets."""
    return "\n\n".join([HEAD, *(section(name, stored[name]) for name in SETS if name in stored), TAIL]) + "\n"


def section(name, report):
    """What was found on one set."""
    seeds = ", ".join(map(str, report["seeds"]))
    limit = max(report["settings"]["limits"].values(), default=0)
    learnt = f"Learned from {limit} training images at most; " if limit else ""
    how = f"{learnt}{report['n_images']} test images, seeds {seeds}, {report['n_trials']} trials a side."
    synergies = synergy_table(report["claims"])
    parts = [f"## {SETS[name]}", how, claims_table(report["claims"]), "### Sides", sides_table(report["claims"])]
    parts += ["### Synergy", synergies] if synergies else []
    shared = ", ".join(f"`{key}` {short(report['shared'][key])}" for key in SHARED if key in report["shared"])
    commands = "\n".join(f"$ {command}" for command in report["commands"])
    return "\n\n".join([*parts, f"All sides share {shared}.", f"```console\n{commands}\n```"])


def told_command(command):
    """The command with DATA and RUN in place of folders."""
    words = command.split()
    for n, word in enumerate(words):
        if word in ("--out", "-o", "--cache"):
            words[n + 1] = "RUN" if word != "--cache" else "CACHE"
    return " ".join([*words[:2], "DATA", *words[3:]])


def claims_table(claims):
    """Every claim, with its differences and its verdict."""
    heads = ["claim", "regression", *MEASURES.values(), "verdict"]
    lines = [
        [c["text"], c["regression"], *(told(c["difference"][key]) for key in MEASURES), c["verdict"]] for c in claims
    ]
    return table(heads, lines)


def sides_table(claims):
    """What each side reaches, and the rates that its trials chose."""
    heads = ["claim", "regression", "side", "both factors", "unary alone", "interactions alone", "rates"]
    lines = []
    for claim in claims:
        for side in (claim["worse"], claim["better"]):
            figures = [
                " / ".join(f"{100 * side['parts'][part][key]:.1f}" for key in MEASURES)
                for part in ("joint", "unary", "interaction")
            ]
            rates = " / ".join(map(short, side["chosen"].values()))
            lines.append([claim["claim"], claim["regression"], side["name"], *figures, rates])
    return "Pixel / class mean, percent.\n\n" + table(heads, lines)


def synergy_table(claims):
    """How much more integrated training gains by having both kinds of factors than bifurcated does."""
    lines = [
        [c["claim"], c["regression"], SYNERGIES[kind], *(told(found[key]) for key in MEASURES)]
        for c in claims
        for kind, found in c["synergy"].items()
    ]
    note = "Gain by having both kinds of factors, of the integrated side less that of the bifurcated one."
    return note + "\n\n" + table(["claim", "regression", "gain", *MEASURES.values()], lines) if lines else ""


def told(found):
    """A difference in points, and its interval."""
    return f"{100 * found['value']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f})".replace("-", "−")


def short(value):
    """A number to three digits, or a word."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def table(heads, lines):
    """A table of Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines))


if __name__ == "__main__":
    main()
