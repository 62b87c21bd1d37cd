"""The command that labels pictures: predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.late_imports import load_late
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import show_json
from neuralfactors._common.files import sweep
from neuralfactors._common.time_left import told_progress
from neuralfactors._runs import RunFolder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from neuralfactors._runs.config import PageUse
    from neuralfactors.datasets._folder import What
    from neuralfactors.datasets._images import Pages
    from neuralfactors.segmentation import Segmenter


@command("predict", "neuralfactors predict runs/photos new/*.jpg --out maps")
def predict(
    run: options.Run,
    images: Annotated[list[Path], typer.Argument(metavar="IMAGES...", help="Pictures, or folders of pictures.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to; created if needed.")],
    variant: options.Trained = None,
    regions_from: options.RegionsFrom = None,
    features_from: options.FeaturesFrom = None,
    pages: options.Pages = None,
    confidence: Annotated[bool, typer.Option(help="Also write the confidence as a grey picture.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Label pictures.

    For each picture, NAME.png has class indices in class colours, and NAME.overlay.jpg shows them on the picture.
    """
    folder = RunFolder(run)
    row = folder.choose_row(variant)
    inputs = _inputs(images, options.page_use(pages) or folder.run().settings.images.pages)
    _refuse_overwriting(inputs, out)

    load_late("scipy.stats")
    from neuralfactors.segmentation import Segmenter
    from neuralfactors.segmentation._graph_prediction import each_on_all_cores

    segmenter = Segmenter.load(row.path, features=folder.features)
    sweep(out)
    results = []
    beside: dict[What, Path | None] = {"regions": regions_from, "features": features_from}
    each = partial(_predict, segmenter, out=out, beside=beside, confidence=confidence)
    start = perf_counter()
    for result in each_on_all_cores(each, inputs):
        results.append(result)
        told = f"{result['image']} → {result['labels']}"
        progress = told_progress(len(results), len(inputs), perf_counter() - start)
        tell(f"{told} ({progress})" if len(inputs) > 1 else told)
    if as_json:
        show_json(results)


@dataclass(frozen=True)
class Input:
    """A picture to label: a file, or what `pages` of it; and the name of what is written."""

    path: Path
    name: str
    pages: Pages = None

    def outputs(self, out: Path) -> dict[str, Path]:
        """The files that are written for it."""
        suffixes = {"labels": ".png", "overlay": ".overlay.jpg", "confidence": ".confidence.png"}
        return {kind: out / f"{self.name}{suffix}" for kind, suffix in suffixes.items()}


def _inputs(paths: list[Path], use: PageUse | None) -> list[Input]:
    """The pictures among `paths` and in the folders among them; refused where two would be written to one file."""
    from neuralfactors.datasets._images import list_pictures

    found: dict[str, Input] = {}
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} does not exist")
        inside = list_pictures(path) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path} contains no picture")
        for one in (one for each in inside for one in _of_file(each, use)):
            if one.name in found:
                raise ValueError(f"{found[one.name].path} and {one.path} would both be written to {one.name}.png")
            found[one.name] = one
    return list(found.values())


def _of_file(path: Path, use: PageUse | None) -> list[Input]:
    from neuralfactors.datasets._folder import page_name
    from neuralfactors.datasets._images import count_pages

    if use == "pictures" and (n_pages := count_pages(path)) > 1:
        return [Input(path, page_name(path.stem, n), n) for n in range(n_pages)]
    return [Input(path, path.stem, "channels" if use == "channels" else None)]


def _refuse_overwriting(inputs: list[Input], out: Path) -> None:
    pictures = {each.path.resolve() for each in inputs}
    for each in inputs:
        for written in each.outputs(out).values():
            if written.resolve() in pictures:
                raise ValueError(f"{written} is an input picture and would be overwritten: choose another --out")


def _predict(
    segmenter: Segmenter, each: Input, out: Path, beside: dict[What, Path | None], *, confidence: bool
) -> dict[str, Any]:
    """The files that are written for one picture, and the share of each class in it."""
    import numpy as np

    from neuralfactors.datasets import read_image, write_image, write_label_map
    from neuralfactors.datasets._folder import read_beside
    from neuralfactors.segmentation import PreparedImage
    from neuralfactors.vision._channels import rgb_of
    from neuralfactors.vision._sources import naming

    image = read_image(each.path, pages=each.pages)
    given = {what: read_beside(folder, each.name, what) for what, folder in beside.items()}
    picture = PreparedImage(image, **given)
    out.mkdir(parents=True, exist_ok=True)
    with naming(str(each.path)):
        if confidence:
            labels, sure = segmenter.predict_with_confidence(picture)
        else:
            labels = segmenter.predict_one(picture)
    classes = segmenter.describer_.classes
    files = each.outputs(out)
    index = np.array([entry.index for entry in classes.kept], dtype=np.uint16)  # large pictures stay within memory
    write_label_map(files["labels"], index[labels], classes.index_palette)
    write_image(files["overlay"], _overlay(rgb_of(image), labels, classes.palette))
    if confidence:
        write_image(files["confidence"], np.rint(255 * sure).astype(np.uint8))
    else:
        del files["confidence"]
    areas = np.bincount(labels.ravel(), minlength=len(index)) / labels.size
    shares = {name: round(float(area), 4) for name, area in zip(classes.names, areas, strict=True) if area}
    return {"image": str(each.path), **{name: str(file) for name, file in files.items()}, "shares": shares}


def _overlay(image: NDArray[np.uint8], labels: NDArray[np.int64], palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture under the colours of its labels."""
    # Half picture, half colours, in whole numbers: large pictures stay within memory.
    return (image >> 1) + (palette >> 1)[labels]
