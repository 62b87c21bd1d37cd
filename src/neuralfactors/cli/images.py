"""Commands that use a model: predict, evaluate, info."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuralfactors.cli.app import (
    AsJson,
    CacheFolder,
    Dask,
    Jobs,
    Row,
    RunArgument,
    cache_folder,
    command,
    progress,
    tell,
)
from neuralfactors.cli.tables import counted, row_figures, show_json, show_results, show_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from neuralfactors.segmentation import Segmenter


@command("predict", "neuralfactors predict runs/photos new/*.jpg --out maps")
def predict(
    run: RunArgument,
    images: Annotated[list[Path], typer.Argument(metavar="IMAGES...", help="Pictures, or folders of pictures.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where to write; made if need be.")],
    row: Row = None,
    confidence: Annotated[bool, typer.Option(help="Write the confidence as a grey picture too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Label pictures: NAME.png holds class indices in class colours, NAME.overlay.jpg shows them on the picture."""
    paths = _pictures(images)
    _refuse_overwriting(paths, out)
    segmenter = _load(run, row)
    results = []
    for path in paths:
        results.append(_predict(segmenter, path, out, confidence=confidence))
        tell(f"{path} → {results[-1]['labels']}")
    if as_json:
        show_json(results)


@command("evaluate", "neuralfactors evaluate runs/photos photos --split test")
def evaluate(
    run: RunArgument,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")],
    split: Annotated[str, typer.Option(help="Which part of DATA; join several by +.")] = "test",
    row: Row = None,
    cache: CacheFolder = None,
    jobs: Jobs = None,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Compare a model's predictions with label maps: accuracy by pixels and classes, IoU, confusion."""
    from neuralfactors.experiment import Means, RunConfig, RunFolder, evaluate_row

    folder = RunFolder.open(run)
    stored = RunConfig(**folder.document()["settings"])
    means = Means(cache_folder(cache), jobs, dask, progress())
    figures = evaluate_row(folder, folder.choose_row(row), data, split, stored, means)
    if as_json:
        show_json(figures)
        return
    names, confusion = figures["classes"], figures["confusion"]
    show_table(("class", "right %", "IoU %"), list(zip(names, figures["per_class"], figures["iou"], strict=True)))
    typer.echo("\nConfusion: shares in % of the true class, a row each; columns are predictions in the same order.")
    width = range(len(names))
    show_table(("", *map(str, width)), [[f"{k} {names[k]}", *_shares(confusion[k])] for k in width])
    told = ", ".join(f"{text} {figures[key]:.1f} %" for key, text in SUMMARY.items() if figures[key] is not None)
    typer.echo(f"\n{figures['row']} on {counted(figures['n_images'], 'image')} of {split}: {told}")


SUMMARY = {"pixel": "pixels", "class_mean": "classes", "mean_iou": "mean IoU"}


@command("info", "neuralfactors info runs/photos --json")
def info(run: RunArgument, as_json: AsJson = False) -> None:
    """Say what a run is: its data, classes, features, and how far its rows are."""
    from neuralfactors.experiment import SEEDS, RunFolder, read_trials
    from neuralfactors.experiment.folder import typed

    document = RunFolder.open(run).document()
    if as_json:
        tuned = document["kind"] == "tune"
        found = {"trials": list(read_trials(run).values())} if tuned else {"rows": row_figures(run)}
        show_json({**document, **found})
        return
    splits = ", ".join(f"{n} {split}" for split, n in document["splits"].items() if n)
    names = ", ".join(entry["name"] for entry in document["classes"])
    facts = {
        "kind": document["kind"],
        "data": f"{document['data']} ({splits})",
        "classes": f"{len(document['classes'])}: {names}",
        "features": document["features"],
        "seeds": ", ".join(map(str, document.get(SEEDS, [document["seed"]]))),
        "started": document["started"],
        "finished": document["finished"] or f"not yet: neuralfactors resume {typed(run)}",
        "version": document["versions"].get("neuralfactors"),
    }
    for name, value in facts.items():
        typer.echo(f"{name + ':':<10}{value}")
    typer.echo()
    show_results(run)


def _load(run: Path, row: str | None) -> Segmenter:
    from neuralfactors.experiment import RunFolder
    from neuralfactors.segmentation import Segmenter

    folder = RunFolder.open(run)
    return Segmenter.load(folder.row(folder.choose_row(row)), features=folder.features)


def _pictures(paths: list[Path]) -> list[Path]:
    """The pictures among `paths` and in the folders among them; refused where two would be written to one file."""
    from neuralfactors.datasets import list_pictures

    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} does not exist")
        inside = list_pictures(path) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path} holds no picture")
        found += inside
    stems: dict[str, Path] = {}
    for path in found:
        if path.stem in stems:
            raise ValueError(f"{stems[path.stem]} and {path} would both be written to {path.stem}.png")
        stems[path.stem] = path
    return found


def _outputs(path: Path, out: Path) -> dict[str, Path]:
    names = {"labels": ".png", "overlay": ".overlay.jpg", "confidence": ".confidence.png"}
    return {name: out / f"{path.stem}{suffix}" for name, suffix in names.items()}


def _refuse_overwriting(paths: list[Path], out: Path) -> None:
    pictures = {path.resolve() for path in paths}
    for path in paths:
        for written in _outputs(path, out).values():
            if written.resolve() in pictures:
                raise ValueError(f"{written} is one of the pictures and would be lost: choose another --out")


def _predict(segmenter: Segmenter, path: Path, out: Path, *, confidence: bool) -> dict[str, Any]:
    import numpy as np

    from neuralfactors.datasets import read_image, write_image, write_label_map

    image = read_image(path)
    out.mkdir(parents=True, exist_ok=True)
    labels = segmenter.predict(image)
    classes = segmenter.describer_.classes
    files = _outputs(path, out)
    index = np.array([entry.index for entry in classes.kept], dtype=np.uint16)  # large pictures stay within memory
    write_label_map(files["labels"], index[labels], classes.index_palette)
    write_image(files["overlay"], _overlay(image, labels, classes.palette))
    if confidence:
        grey = np.rint(255 * segmenter.confidence(image)).astype(np.uint8)
        write_image(files["confidence"], grey)
    else:
        del files["confidence"]
    areas = np.bincount(labels.ravel(), minlength=len(index)) / labels.size
    shares = {name: round(float(area), 4) for name, area in zip(classes.names, areas, strict=True) if area}
    return {"image": str(path), **{name: str(file) for name, file in files.items()}, "shares": shares}


def _overlay(image: NDArray[np.uint8], labels: NDArray[np.int64], palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    # Half picture, half colours, in whole numbers, for the same reason.
    return (image >> 1) + (palette >> 1)[labels]


def _shares(counts: list[int]) -> list[str]:
    total = sum(counts)
    return [f"{100 * count / total:.0f}" if total else "–" for count in counts]
