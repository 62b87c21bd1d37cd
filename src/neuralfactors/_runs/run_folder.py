"""The run folder: where every file is, and which record it contains."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from neuralfactors._common.files import FileFormatError
from neuralfactors._runs.documents import Document, Lines
from neuralfactors._runs.names import USUAL, variant_key
from neuralfactors._runs.records import Epoch, Examples, Metrics, Regions, Row, Run, Settings, Trial


@dataclass(frozen=True)
class RowFolder:
    """The files of a variant in a run; its model is saved in the folder itself."""

    path: Path

    @property
    def variant(self) -> str:
        """The variant that is trained here."""
        return self.path.name

    @property
    def row(self) -> Document[Row]:
        """Progress of the training; none if it has not begun."""
        return Document(Row, self.path / "row.json")

    @property
    def metrics(self) -> Document[Metrics]:
        """What the model reaches on the test images; there are none where it has not been evaluated."""
        return Document(Metrics, self.path / "metrics.json")

    @property
    def history(self) -> Lines[Epoch]:
        """The epochs so far."""
        return Lines(Epoch, self.path / "history.jsonl")

    @property
    def is_done(self) -> bool:
        """Whether the model is there."""
        row = self.checked_row()
        return row is not None and row.status == "done"

    def checked_row(self) -> Row | None:
        """Progress of the training, refused if it belongs to another variant."""
        row = self.row.read()
        if row and row.variant != self.variant:
            raise FileFormatError(f"{self.row.path} belongs to another variant, {row.variant}")
        return row

    def add_epoch(self, epoch: Epoch) -> None:
        """Add to the history, replacing later epochs from before an interruption."""
        self.history.write([*(former for former in self.history.read() if former.epoch < epoch.epoch), epoch])

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

    @property
    def document(self) -> Document[Run]:
        """What the run is."""
        return Document(Run, self.path / "run.json")

    @property
    def regions(self) -> Document[Regions]:
        """The regions of the training images; there are none before these have been described."""
        return Document(Regions, self.path / "regions.json")

    @property
    def examples(self) -> Document[Examples]:
        """The images that are kept for reports; there are none where nothing was evaluated."""
        return Document(Examples, self.path / "examples.json")

    @property
    def trials(self) -> Lines[Trial]:
        """The trials of a search so far."""
        return Lines(Trial, self.path / "trials.jsonl")

    @property
    def settings(self) -> Document[Settings]:
        """The settings that a search has chosen."""
        return Document(Settings, self.path / "settings.json")

    @property
    def features(self) -> Path:
        """Folder of words and scaling."""
        return self.path / "features"

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
        """Folder of pictures of the labels by each part of a model."""
        return self.path / "figures"

    def example_image(self, name: str) -> Path:
        """The small picture of an example."""
        return self.path / "examples" / f"{name}.jpg"

    def example_truth(self, name: str) -> Path:
        """The true label map of an example."""
        return self.path / "examples" / f"{name}.png"

    def seed(self, seed: int) -> RunFolder:
        """Where a comparison keeps the run of `seed`."""
        return RunFolder(self.path / f"seed-{seed}")

    def row(self, variant: str) -> RowFolder:
        """The files of a variant."""
        return RowFolder(self.path / "rows" / variant)

    def rows(self) -> list[RowFolder]:
        """The files of all variants, begun or not, in the order of the run."""
        return [self.row(variant) for variant in self.run().settings.variants]

    @property
    def is_begun(self) -> bool:
        """Whether there is a run."""
        return self.document.path.exists()

    def run(self) -> Run:
        """What the run is, refused where there is none that can be read."""
        run = self.document.read()
        if run is None:
            raise FileNotFoundError(f"{self.path} is not a run folder: it has no {self.document.path.name}")
        return run

    def choose_row(self, variant: str | None) -> RowFolder:
        """The finished row of `variant`; where it is None, of int+nrl if there is one, else the last."""
        run = self.run()
        if run.seeds:
            one = self.seed(run.seeds[0]).path
            raise ValueError(f"{self.path} contains several runs: name one of them, such as {one}")
        if run.search:
            raise ValueError(
                f"{self.path} contains a search for settings, not a model: pass them to 'neuralfactors train'"
            )
        done = {row.variant: row for row in self.rows() if row.is_done}
        if not done:
            told = f"continue it with 'neuralfactors resume {typed(self.path)}'"
            raise ValueError(f"{self.path} has no finished model yet: {told}")
        if variant is None:
            return done.get(USUAL, [*done.values()][-1])
        if variant_key(variant) not in done:
            raise ValueError(f"{self.path} has no finished model of {variant!r}; it has {', '.join(done)}")
        return done[variant_key(variant)]

    def refuse_unless(self, same: bool) -> None:
        """Refuse to resume the run that is here unless its settings are the `same`."""
        if not same:
            raise ValueError(f"{self.path} contains a run with other settings: choose another folder with --out")

    def refuse_begun(self) -> None:
        """Refuse to begin a run where one exists."""
        if self.is_begun:
            told = f"continue it with 'neuralfactors resume {typed(self.path)}', or choose another folder"
            raise FileExistsError(f"{self.path} already contains a run: {told}")


def typed(path: Path) -> str:
    """`path` as a word of a command line: quoted where the shell would split it, and never taken for an option.

    >>> typed(Path("-my runs"))
    "'./-my runs'"
    """
    text = os.fspath(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
