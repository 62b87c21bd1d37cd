"""Run folders in, values out. What is missing or damaged is left out and said in `Run.problems`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from neuralfactors.files import FileFormatError, check_regular, parse_json, unsealed
from neuralfactors.report.published import VARIANTS
from neuralfactors.report.run import ClassInfo, Example, Matrix, Metrics, Row, Run, number

FORMAT = 2  # the format of run.json and row.json that is understood here


def read_run(folder: str | os.PathLike[str]) -> Run:
    """The run in `folder`; FileNotFoundError or ValueError where there is none that can be read."""
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is no folder: a run was expected there")
    seeds = _seed_folders(path)
    return _read_comparison(path, seeds) if seeds else _read_single(path)


def _read_single(path: Path) -> Run:
    if not (path / "run.json").exists() and not (path / "rows").is_dir():
        raise ValueError(f"{path} holds neither run.json nor rows/: it is not a run folder")
    run = _read_info(path)
    run.classes = _read_classes(run)
    run.rows = tuple(row for row in (_read_row(name, run) for name in _row_folders(path)) if row)
    if not _has_test(run):
        run.problems.append("the run has no test images, so nothing was evaluated")
    if not run.rows:
        run.problems.append("there is no finished or started row in rows/")
    run.examples = _read_examples(run)
    return run


def _read_info(path: Path) -> Run:
    run = Run(path, {})
    run.info = _read_json(path / "run.json", run)
    version = run.info.get("format", FORMAT)
    if version != FORMAT:
        raise ValueError(f"{path / 'run.json'} is of format {version!r}, but this version reads {FORMAT}")
    if run.info.get("kind") == "tune":
        raise ValueError(f"{path} holds a search for settings, which has no report: 'neuralfactors info' shows it")
    return run


def _seed_folders(path: Path) -> list[str]:
    """Names of the runs of a comparison, those it should have and those it has; none where it is an ordinary run."""
    seeds = _read_json(path / "run.json", Run(path, {})).get("seeds")
    wanted = [f"seed-{seed}" for seed in seeds if isinstance(seed, int)] if isinstance(seeds, list) else []
    if not wanted and (path / "rows").is_dir():
        return []
    found = sorted((entry.name for entry in path.glob("seed-*") if entry.is_dir()), key=lambda name: (len(name), name))
    return list(dict.fromkeys([*wanted, *found]))


def _read_comparison(path: Path, names: list[str]) -> Run:
    """The runs of all seeds that can be read, under the description of the comparison."""
    whole = _read_info(path)
    runs = []
    for name in names:
        try:
            run = _read_single(path / name)
        except ValueError as error:
            begun = (path / name).is_dir()
            whole.problems.append(f"{name} is left out: {error}" if begun else f"{name} has not begun")
            continue
        whole.problems += [f"{name}: {problem}" for problem in run.problems]
        runs.append(run)
    whole.seeds = tuple(runs)
    first = runs[0] if runs else Run(path, {})
    whole.info = {**first.info, **whole.info}
    whole.classes, whole.examples = first.classes, first.examples
    whole.rows = tuple(_best_read(folder, runs) for folder in _order({row.folder for run in runs for row in run.rows}))
    if not whole.rows:
        whole.problems.append("there is no finished or started row yet")
    return whole


def _best_read(folder: str, runs: list[Run]) -> Row:
    """The row of that folder of the first seed that has its figures, or of the first that has it."""
    rows = [row for run in runs if (row := run.row(folder))]
    return next((row for row in rows if row.metrics), rows[0])


def _has_test(run: Run) -> bool:
    return run.table("splits").get("test") != 0


def _row_folders(path: Path) -> list[str]:
    return _order({entry.name for entry in (path / "rows").glob("*") if entry.is_dir()})


def _order(folders: set[str]) -> list[str]:
    order = [variant.folder for variant in VARIANTS]
    return sorted(sorted(folders), key=lambda name: order.index(name) if name in order else len(order))


def _read_json(path: Path, run: Run, *, optional: bool = False) -> dict[str, Any]:
    place = path.relative_to(run.folder).as_posix()
    try:
        value = parse_json(check_regular(path).read_bytes(), place)
        if isinstance(value, dict) and value.get("format", FORMAT) != FORMAT:
            return value  # the caller refuses it, whatever its digest
        return unsealed(value, place)
    except FileNotFoundError:
        if not optional:
            run.problems.append(f"{place} is missing")
        return {}
    except OSError as error:
        run.problems.append(f"{place} cannot be read: {error.strerror}")
        return {}
    except FileFormatError as error:
        run.problems.append(str(error))
        return {}


def _read_classes(run: Run) -> tuple[ClassInfo, ...]:
    listed = run.info.get("classes")
    if not isinstance(listed, list):
        listed = _guess_classes(run.folder)
        run.problems.append(f"run.json does not list the classes; the rows show {len(listed)} of them")
    return tuple(_read_class(entry, label) for label, entry in enumerate(listed))


def _guess_classes(folder: Path) -> list[dict[str, str]]:
    aside = Run(folder, {})  # these files are read again, and their problems told, with their rows
    for path in sorted(folder.glob("rows/*/interactions.json")):
        labels = _read_json(path, aside).get("labels")
        if isinstance(labels, list) and labels:
            return [{"name": str(name)} for name in labels]
    lists = [_read_json(path, aside).get("per_class") for path in sorted(folder.glob("rows/*/metrics.json"))]
    longest = max((len(values) for values in lists if isinstance(values, list)), default=0)
    return [{"name": f"class {label}"} for label in range(longest)]


def _read_class(entry: object, label: int) -> ClassInfo:
    values = entry if isinstance(entry, dict) else {}
    color = values.get("color")
    if not (isinstance(color, list) and len(color) == 3 and all(isinstance(c, int) and 0 <= c <= 255 for c in color)):
        color = [(97 * label + 60) % 256, (57 * label + 120) % 256, (151 * label + 30) % 256]
    return ClassInfo(str(values.get("name", f"class {label}")), (color[0], color[1], color[2]))


def _read_row(name: str, run: Run) -> Row | None:
    folder = run.folder / "rows" / name
    record = _read_json(folder / "row.json", run)
    version = record.get("format", FORMAT)
    if version != FORMAT:
        run.problems.append(f"rows/{name} is left out: it is of format {version!r}, but this version reads {FORMAT}")
        return None
    variant = next((variant for variant in VARIANTS if variant.folder == name), None)
    status = str(record.get("status", "unknown"))
    done = status == "done"
    row = Row(
        folder=name,
        name=variant.name if variant else name,
        training=variant.training if variant else "",
        description=variant.description if variant else "",
        status=status,
        error=str(record["error"]) if record.get("error") else None,
        record=record,
        history=_read_history(folder / "history.jsonl", run, optional=not done),
        metrics=_read_metrics(folder / "metrics.json", run, optional=not (done and _has_test(run))),
        interactions=_read_interactions(folder / "interactions.json", run),
        predictions=folder / "predictions",
    )
    if row.status == "failed":
        run.problems.append(f"{row.name} failed: {row.error or 'no reason was recorded'}")
    elif not done and record:
        run.problems.append(f"{row.name} is not finished: its status is {row.status}")
    return row


def _read_history(path: Path, run: Run, *, optional: bool) -> list[dict[str, Any]]:
    place = path.relative_to(run.folder).as_posix()
    try:
        lines = check_regular(path).read_bytes().splitlines()
    except FileFormatError as error:
        run.problems.append(str(error))
        return []
    except OSError:
        if not optional:
            run.problems.append(f"{place} is missing")
        return []
    records: list[dict[str, Any]] = []
    damaged = 0
    for line in filter(None, map(bytes.strip, lines)):
        try:
            records.append(unsealed(parse_json(line, place), place))
        except FileFormatError:
            damaged += 1
    if damaged:
        run.problems.append(f"{place} has {damaged} damaged {'line' if damaged == 1 else 'lines'}, left out")
    return records


def _read_metrics(path: Path, run: Run, *, optional: bool) -> Metrics | None:
    values = _read_json(path, run, optional=optional)
    if not values:
        return None
    listed = values.get("per_class")
    if isinstance(listed, dict):
        listed = [listed.get(info.name) for info in run.classes]
    if not isinstance(listed, list) or len(listed) != len(run.classes):
        run.problems.append(f"{path.relative_to(run.folder).as_posix()} has no accuracy for each class")
        listed = [None] * len(run.classes)
    ablation, split = values.get("ablation"), values.get("split")
    n_images = number(values.get("n_images"))
    return Metrics(
        split=split if isinstance(split, str) and split else None,
        pixel=number(values.get("pixel")),
        class_mean=number(values.get("class_mean")),
        mean_iou=number(values.get("mean_iou")),
        per_class=tuple(map(number, listed)),
        confusion=_read_matrix(values.get("confusion"), len(run.classes)),
        ablation=_read_ablation(ablation) if isinstance(ablation, dict) else {},
        n_images=None if n_images is None else int(n_images),
    )


def _read_ablation(values: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    parts = {part: values[part] for part in ("unary", "interaction", "joint") if isinstance(values.get(part), dict)}
    return {part: {key: number(entry.get(key)) for key in ("pixel", "class_mean")} for part, entry in parts.items()}


def _read_interactions(path: Path, run: Run) -> Matrix | None:
    values = _read_json(path, run, optional=True)
    if not values:
        return None
    table = _read_matrix(values.get("table"), len(run.classes))
    if table is None:
        run.problems.append(f"{path.relative_to(run.folder).as_posix()} has no table of one row and column a class")
    return table


def _read_matrix(values: object, n_labels: int) -> Matrix | None:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return matrix if matrix.shape == (n_labels, n_labels) and np.isfinite(matrix).all() and n_labels else None


def _read_examples(run: Run) -> tuple[Example, ...]:
    values = _read_json(run.folder / "examples.json", run, optional=not _has_test(run))
    listed = values.get("images")
    if values and not isinstance(listed, list):
        run.problems.append("examples.json lists no images")
    found = []
    for entry in listed if isinstance(listed, list) else []:
        entries = [entry.get(key) for key in ("name", "image", "truth")] if isinstance(entry, dict) else []
        texts = [value for value in entries if isinstance(value, str)]
        if len(texts) != 3:
            run.problems.append("examples.json has an entry without name, image and truth")
            continue
        image, truth = run.folder / texts[1], run.folder / texts[2]
        if all(path.resolve().is_relative_to(run.folder.resolve()) for path in (image, truth)):
            found.append(Example(texts[0], image, truth))
        else:
            run.problems.append(f"the example {texts[0]} is left out: its files are outside the run folder")
    return tuple(found)
