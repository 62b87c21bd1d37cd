"""The command that describes a run: info."""

from __future__ import annotations

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import echo
from neuralfactors._cli.terminal_tables import row_progress, show_json, show_results
from neuralfactors._runs import Run, RunFolder, typed
from neuralfactors._runs.documents import encode


@command("info", "neuralfactors info runs/photos --json")
def info(run: options.Run, as_json: options.AsJson = False) -> None:
    """Show a run's data, classes, features and progress."""
    folder = RunFolder(run)
    record = folder.run()
    if as_json:
        show_json({**encode(record), "regions": encode(folder.regions.read()), **_details(folder, record)})
        return
    splits = ", ".join(f"{n} {split}" for split, n in record.splits.items() if n)
    names = ", ".join(each.name for each in record.classes)
    facts = {
        "kind": record.settings.kind,
        "data": f"{record.settings.data_name} ({splits})",
        "classes": f"{len(record.classes)}: {names}",
        "features": record.settings.feature_kind,
        **_regions(folder),
        "seeds": ", ".join(map(str, record.seeds or [record.settings.seed])),
        "started": record.started,
        "finished": record.finished or f"not yet; to continue: neuralfactors resume {typed(run)}",
        "version": record.versions.get("neuralfactors"),
    }
    for name, value in facts.items():
        echo(f"{name + ':':<10}{value}")
    echo()
    show_results(run)


def _regions(folder: RunFolder) -> dict[str, str]:
    """How fine the regions are and what they can reach, where a run knows it."""
    regions = folder.regions.read()
    if regions is None:
        return {}
    return {"regions": f"about {regions.mean} an image; ceiling {regions.ceiling.told}"}


def _details(folder: RunFolder, run: Run) -> dict[str, object]:
    """The details of a run for JSON: the trials of a search, or the rows."""
    if run.search:
        return {"trials": encode(folder.trials.read())}
    if run.seeds:
        from neuralfactors._report import compare_with_paper, read_results

        return {"rows": encode(compare_with_paper(read_results(folder.path)).rows)}
    return {"rows": encode([row_progress(row) for row in folder.rows()])}
