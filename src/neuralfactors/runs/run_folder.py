"""The run folder: where every file lies, and how it is read and written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from neuralfactors.files import FileFormatError
from neuralfactors.runs.documents import read_document, read_lines, write_document, write_lines
from neuralfactors.runs.names import USUAL, variant_key
from neuralfactors.runs.records import Epoch, Examples, Metrics, Row, Run, Settings, Trial


@dataclass(frozen=True)
class RowFolder:
    """The files of a variant in a run; its model is saved in the folder itself."""

    path: Path

    @property
    def variant(self) -> str:
        """The variant that is trained here."""
        return self.path.name

    @property
    def row_file(self) -> Path:
        """Says how far the training is."""
        return self.path / "row.json"

    @property
    def metrics_file(self) -> Path:
        """Says what the model reaches on the test images."""
        return self.path / "metrics.json"

    @property
    def history_file(self) -> Path:
        """Has the epochs, one a line."""
        return self.path / "history.jsonl"

    def row(self) -> Row | None:
        """How far the training is; None where it has not begun."""
        row = read_document(Row, self.row_file) if self.row_file.exists() else None
        if row and row.variant != self.variant:
            raise FileFormatError(f"{self.row_file} is of another variant, {row.variant}")
        return row

    def write_row(self, row: Row) -> None:
        """Record how far the training is."""
        write_document(self.row_file, row)

    @property
    def is_done(self) -> bool:
        """Whether the model is there."""
        row = self.row()
        return row is not None and row.status == "done"

    def metrics(self) -> Metrics | None:
        """What the model reaches on the test images; None where it has not been evaluated."""
        return read_document(Metrics, self.metrics_file) if self.metrics_file.exists() else None

    def write_metrics(self, metrics: Metrics) -> None:
        """Record what the model reaches."""
        write_document(self.metrics_file, metrics)

    def history(self) -> list[Epoch]:
        """The epochs so far."""
        return read_lines(Epoch, self.history_file)

    def add_epoch(self, epoch: Epoch) -> None:
        """Add to the history; epochs from then on, from before an interruption, go."""
        kept = [former for former in self.history() if former.epoch < epoch.epoch]
        write_lines(self.history_file, [*kept, epoch])

    def checkpoint(self, stage: str) -> Path:
        """Where the estimator called `stage` keeps its state while it is trained."""
        return self.path / f"{stage}.checkpoint"

    def remove_checkpoints(self) -> None:
        """Remove what a finished training no longer needs."""
        for path in self.path.glob(self.checkpoint("*").name):
            path.unlink()

    def prediction(self, name: str) -> Path:
        """Label map that the model predicts for the example called `name`."""
        return self.path / "predictions" / f"{name}.png"


@dataclass(frozen=True)
class RunFolder:
    """The files of a run, of a comparison or of a search for settings."""

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """The folder `path`, refused where it holds no run that can be read."""
        folder = cls(Path(path))
        folder.run()
        return folder

    @property
    def is_begun(self) -> bool:
        """Whether there is a run."""
        return (self.path / "run.json").exists()

    def run(self) -> Run:
        """What the run is."""
        path = self.path / "run.json"
        if not path.is_file():
            raise FileNotFoundError(f"{self.path} is not a run folder: it has no {path.name}")
        return read_document(Run, path)

    def write_run(self, run: Run) -> None:
        """Record what the run is; nothing is written where that is known."""
        if not self.is_begun or run != self.run():
            write_document(self.path / "run.json", run)

    def forget_run(self) -> None:
        """Let the folder be as if no run had begun in it."""
        (self.path / "run.json").unlink(missing_ok=True)

    @property
    def features(self) -> Path:
        """Folder of words and scaling."""
        return self.path / "features"

    def seed(self, seed: int) -> RunFolder:
        """Where a comparison keeps the run of `seed`."""
        return RunFolder(self.path / f"seed-{seed}")

    def row(self, variant: str) -> RowFolder:
        """The files of a variant."""
        return RowFolder(self.path / "rows" / variant)

    def rows(self) -> list[RowFolder]:
        """The files of all variants, begun or not, in the order of the run."""
        return [self.row(variant) for variant in self.run().settings.variants]

    def choose_row(self, variant: str | None) -> RowFolder:
        """The finished row of `variant`; where it is None, of int+nrl if there is one, else the last."""
        run = self.run()
        if run.seeds:
            one = self.seed(run.seeds[0]).path
            raise ValueError(f"{self.path} holds several runs: name one of them, such as {one}")
        if run.search:
            raise ValueError(f"{self.path} holds a search for settings and no model: 'neuralfactors train' takes them")
        done = {row.variant: row for row in self.rows() if row.is_done}
        if not done:
            raise ValueError(
                f"{self.path} has no finished model yet: 'neuralfactors resume {typed(self.path)}' goes on with it"
            )
        if variant is None:
            return done.get(USUAL, [*done.values()][-1])
        if variant_key(variant) not in done:
            raise ValueError(f"{self.path} has no finished model of {variant!r}; it has {', '.join(done)}")
        return done[variant_key(variant)]

    @property
    def examples_file(self) -> Path:
        """Lists the images that are kept for reports."""
        return self.path / "examples.json"

    def examples(self) -> tuple[str, ...]:
        """Names of the images that are kept for reports; none where nothing was evaluated."""
        return read_document(Examples, self.examples_file).names if self.examples_file.exists() else ()

    def write_examples(self, names: Iterable[str]) -> None:
        """Record which images are kept."""
        write_document(self.examples_file, Examples(tuple(names)))

    def example_image(self, name: str) -> Path:
        """The small picture of an example."""
        return self.path / "examples" / f"{name}.jpg"

    def example_truth(self, name: str) -> Path:
        """The true label map of an example."""
        return self.path / "examples" / f"{name}.png"

    def trials(self) -> dict[int, Trial]:
        """The trials of a search so far, by number."""
        return {trial.number: trial for trial in read_lines(Trial, self.path / "trials.jsonl")}

    def write_trials(self, trials: Iterable[Trial]) -> None:
        """Record the trials of a search."""
        write_lines(self.path / "trials.jsonl", trials)

    @property
    def settings(self) -> Path:
        """The file of the settings that a search has chosen."""
        return self.path / "settings.json"

    def write_settings(self, settings: Settings) -> None:
        """Record the settings that a search has chosen."""
        write_document(self.settings, settings)

    @property
    def report(self) -> Path:
        """The page about the run."""
        return self.path / "report.html"

    @property
    def scenes(self) -> Path:
        """Folder of the images that the demo draws."""
        return self.path / "scenes"

    @property
    def figures(self) -> Path:
        """Folder of pictures of what each part of a model says."""
        return self.path / "figures"

    def refuse_unless(self, same: bool) -> None:
        """Refuse to go on with the run that is here unless its settings are the `same`."""
        if not same:
            raise ValueError(f"{self.path} holds a run with other settings: choose another folder with --out")

    def refuse_begun(self) -> None:
        """Refuse to begin a run where there is one."""
        if self.is_begun:
            raise FileExistsError(
                f"{self.path} already holds a run: 'neuralfactors resume {typed(self.path)}' continues it, another one "
                "needs another folder"
            )


def typed(path: Path) -> str:
    """`path` as a word of a command line: quoted where the shell would split it, and never taken for an option.

    >>> typed(Path("-my runs"))
    "'./-my runs'"
    """
    text = os.fspath(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
