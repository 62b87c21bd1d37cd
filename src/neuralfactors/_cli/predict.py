"""The command that labels pictures: predict."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import show_json
from neuralfactors._runs import RunFolder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from neuralfactors.datasets._folder import What
    from neuralfactors.segmentation import Segmenter


@command("predict", "neuralfactors predict runs/photos new/*.jpg --out maps")
def predict(
    run: options.Run,
    images: Annotated[list[Path], typer.Argument(metavar="IMAGES...", help="Pictures, or folders of pictures.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to; created if needed.")],
    variant: options.Trained = None,
    regions_from: options.RegionsFrom = None,
    features_from: options.FeaturesFrom = None,
    confidence: Annotated[bool, typer.Option(help="Also write the confidence as a grey picture.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Label pictures: NAME.png has class indices in class colours, NAME.overlay.jpg shows them on the picture."""
    paths = _pictures(images)
    _refuse_overwriting(paths, out)
    folder = RunFolder(run)
    row = folder.choose_row(variant)

    from neuralfactors.segmentation import Segmenter
    from neuralfactors.segmentation._graph_prediction import each_on_all_cores

    segmenter = Segmenter.load(row.path, features=folder.features)
    results = []
    beside: dict[What, Path | None] = {"regions": regions_from, "features": features_from}
    each = partial(_predict, segmenter, out=out, beside=beside, confidence=confidence)
    for result in each_on_all_cores(each, paths):
        results.append(result)
        tell(f"{result['image']} → {result['labels']}")
    if as_json:
        show_json(results)


def _pictures(paths: list[Path]) -> list[Path]:
    """The pictures among `paths` and in the folders among them; refused where two would be written to one file."""
    from neuralfactors.datasets._images import list_pictures

    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} does not exist")
        inside = list_pictures(path) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path} contains no picture")
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
                raise ValueError(f"{written} is an input picture and would be overwritten: choose another --out")


def _predict(
    segmenter: Segmenter, path: Path, out: Path, beside: dict[What, Path | None], *, confidence: bool
) -> dict[str, Any]:
    import numpy as np

    from neuralfactors.datasets import read_image, write_image, write_label_map
    from neuralfactors.datasets._folder import read_beside
    from neuralfactors.segmentation import PreparedImage

    image = read_image(path)
    picture = PreparedImage(image, **{what: read_beside(folder, path.stem, what) for what, folder in beside.items()})
    out.mkdir(parents=True, exist_ok=True)
    if confidence:
        labels, sure = segmenter.predict_with_confidence(picture)
    else:
        labels = segmenter.predict_one(picture)
    classes = segmenter.describer_.classes
    files = _outputs(path, out)
    index = np.array([entry.index for entry in classes.kept], dtype=np.uint16)  # large pictures stay within memory
    write_label_map(files["labels"], index[labels], classes.index_palette)
    write_image(files["overlay"], _overlay(image, labels, classes.palette))
    if confidence:
        write_image(files["confidence"], np.rint(255 * sure).astype(np.uint8))
    else:
        del files["confidence"]
    areas = np.bincount(labels.ravel(), minlength=len(index)) / labels.size
    shares = {name: round(float(area), 4) for name, area in zip(classes.names, areas, strict=True) if area}
    return {"image": str(path), **{name: str(file) for name, file in files.items()}, "shares": shares}


def _overlay(image: NDArray[np.uint8], labels: NDArray[np.int64], palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    # Half picture, half colours, in whole numbers, for the same reason.
    return (image >> 1) + (palette >> 1)[labels]
