"""The best scores known of the UAI problems: `best_uai.json`, by family/name, with who found them.

An entry gives way to a strictly better score only, and to a proof of its own. A score counts after it has been computed
again from the labels and the problem's tables.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from uai_runs import Labels, is_better, score_of

from neuralfactors.inference import MapProblem

RECORD = Path(__file__).with_suffix(".json")
FINDERS = {"reference": "reference of the set"}  # in the words of the page


class BestScores:
    """Best score of each problem, as {"score", "by", "proved"}: `offer` takes a better one, `save` writes the file."""

    def __init__(self, path: Path = RECORD) -> None:
        self.path = path
        self.entries: dict[str, dict[str, object]] = json.loads(path.read_text()) if path.is_file() else {}
        self.contradictions: list[str] = []

    def score(self, name: str) -> float:
        """The best score known, -inf if there is none."""
        return float(self.entries[name]["score"]) if name in self.entries else -math.inf  # type: ignore[arg-type]

    def take_from_data(self, name: str, came: dict[str, object]) -> None:
        """Begin with what came with the data, where nothing is on record."""
        by = str(came["by"])
        self.entries.setdefault(name, {"score": came["best"], "by": FINDERS.get(by, by), "proved": came["proved"]})

    def offer(self, name: str, problem: MapProblem, labels: Labels, by: str, proved: bool) -> bool:
        """Take a labelling if it is strictly better than what is known; returns whether it was.

        What contradicts a proof, of this run or on record, goes to `contradictions` and changes nothing.
        """
        score, known = score_of(problem, labels), self.score(name)
        if not math.isfinite(score):
            return False
        better = is_better(score, known)
        if (better and self.entries.get(name, {}).get("proved")) or (proved and is_better(known, score)):
            self.contradictions.append(f"{name}: {by} found {score!r}, on record is {known!r}")
            return False
        if better:
            self.entries[name] = {"score": score, "by": by, "proved": proved}
        elif proved:
            self.entries[name]["proved"] = True
        return better

    def save(self) -> None:
        """Write the file."""
        self.path.write_text(json.dumps(dict(sorted(self.entries.items())), indent=1) + "\n")
