"""Run folders as the experiments write them, small and generated, whole or damaged at will."""

import json

import numpy as np
import pytest
from PIL import Image

from neuralfactors.files import sealed, write_records

ROWS = ("unary", "CP", "SGD", "int+lin", "bif+nrl", "int+nrl", "int+lin-dagger", "3-layer")
MSRC21 = (
    *("building", "grass", "tree", "cow", "sheep", "sky", "aeroplane", "water", "face", "car", "bicycle", "flower"),
    *("sign", "bird", "book", "chair", "road", "cat", "dog", "body", "boat"),
)


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sealed(value), ensure_ascii=False), encoding="utf-8")


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def spaced_colors(n):
    return [[(67 * k + 40) % 256, (131 * k + 90) % 256, (29 * k + 150) % 256] for k in range(n)]


def metrics_of(confusion, random):
    total = confusion.sum(axis=1)
    shares = 100 * np.diag(confusion) / total
    alone = [{"pixel": random.uniform(10, 40), "class_mean": random.uniform(5, 30)} for _ in range(2)]
    pixel, mean = 100 * np.trace(confusion) / confusion.sum(), shares.mean()
    return {
        "split": "test",
        "pixel": pixel,
        "class_mean": mean,
        "mean_iou": 0.7 * mean,
        "per_class": shares.tolist(),
        "confusion": confusion.tolist(),
        "n_images": 2,
        "ablation": {"unary": alone[0], "interaction": alone[1], "joint": {"pixel": pixel, "class_mean": mean}},
    }


def write_map(path, labels, colors):
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(colors) > 255:  # 16 bits of grey, in which 65535 is void
        Image.fromarray(labels.astype(np.uint16)).save(path)
        return
    picture = Image.fromarray(labels.astype(np.uint8))
    # All 256 colours: with fewer, the file has fewer bits a pixel, too few for 255, which is void.
    picture.putpalette([value for color in colors for value in color] + [0, 0, 0] * (256 - len(colors)))
    picture.save(path)


def write_row(folder, row, names, truths, colors, random, strength):
    n = len(names)
    write_json(
        folder / "row.json",
        {
            "format": 2,
            "row": row,
            "settings": {"C": 0.5, "unary": {"hidden": [256], "learning_rate": 0.01 * strength}},
            "status": "done",
            "error": None,
            "seconds": 10.0 * strength,
            "seconds_per_epoch": 0.5 * strength,
            "epochs": 20,
            "best_epoch": 17,
            "seed": 0,
        },
    )
    records = [
        {
            "epoch": epoch,
            "objective": 500 * strength / epoch + 3,
            "hinge": 40 / epoch + strength,
            "gap": 0.1 / epoch,
            "proved": 0.5,
            "negative": 0.0,
            "differing": 0.3,
            "accuracy": None,
            "val_accuracy": 0.5 + 0.04 * strength * (1 - 1 / epoch),
            "seconds": {"forward": 0.1 * strength, "inference": 0.15, "backward": 0.1},
        }
        for epoch in range(1, 21)
    ]
    write_records(folder / "history.jsonl", records)
    confusion = random.integers(0, 40, (n, n)) + np.diag(random.integers(50, 200, n) * strength)
    write_json(folder / "metrics.json", metrics_of(confusion, random))
    table = random.normal(size=(n, n)) + 2 * np.eye(n)
    if row != "unary":
        write_json(folder / "interactions.json", {"labels": names, "table": table.tolist()})
    for name, truth in truths.items():
        predicted = np.where(truth >= n, 0, truth)
        wrong = random.random(truth.shape) < 0.5 / strength
        write_map(folder / "predictions" / f"{name}.png", np.where(wrong, (predicted + 1) % n, predicted), colors)


@pytest.fixture
def make_run(tmp_path):
    """A function that writes a whole run folder: classes, preset and rows can be chosen; two examples."""

    def make(names=("sky", "water", "grass"), preset=None, rows=ROWS, features="bow", folder="run"):
        names, run = list(names), tmp_path / folder
        random = np.random.default_rng(0)
        colors = spaced_colors(len(names))
        write_json(
            run / "run.json",
            {
                "format": 2,
                "kind": "compare",
                "data": "scenes",
                "splits": {"train": 6, "val": 2, "test": 2},
                "classes": [{"name": name, "color": color} for name, color in zip(names, colors, strict=True)],
                "features": features,
                "seed": 7,
                "preset": preset,
                "settings": {"regions": 300},
                "versions": {"neuralfactors": "0.1.0", "torch": "2.13.0"},
                "started": "2026-01-02T03:04:05",
                "finished": "2026-01-02T03:24:05",
                "command": "neuralfactors compare scenes --seed 7 --out run",
            },
        )
        truths = {}
        for name in ("first", "second"):
            truth = np.repeat(np.arange(40)[:, None] * len(names) // 40, 60, axis=1)
            truth[:4, :4] = 255 if len(names) <= 255 else 65535  # void
            truths[name] = truth
            (run / "examples").mkdir(exist_ok=True)
            noise = random.integers(0, 255, (40, 60, 3)).astype(np.uint8)
            Image.fromarray(noise).save(run / "examples" / f"{name}.jpg")
            write_map(run / "examples" / f"{name}.png", truth, colors)
        images = [{"name": name, "image": f"examples/{name}.jpg", "truth": f"examples/{name}.png"} for name in truths]
        write_json(run / "examples.json", {"images": images})
        for strength, row in enumerate(rows, start=1):
            write_row(run / "rows" / row, row, names, truths, colors, random, strength)
        return run

    return make


@pytest.fixture
def make_comparison(make_run, tmp_path):
    """A function that writes a comparison; `shifts` are added to all accuracies of a seed, so that seeds differ."""

    def make(*names_and_options, shifts=(0.0, 1.0, 5.0), folder="comparison", **options):
        for seed, shift in enumerate(shifts):
            run = make_run(*names_and_options, folder=f"{folder}/seed-{seed}", **options)
            write_json(run / "run.json", {**read_json(run / "run.json"), "seed": seed})
            for path in run.glob("rows/*/metrics.json"):
                metrics = read_json(path)
                figures = {key: metrics[key] + shift for key in ("pixel", "class_mean", "mean_iou")}
                per_class = [value + shift for value in metrics["per_class"]]
                ablation = {**metrics["ablation"], "joint": figures}
                write_json(path, {**metrics, **figures, "per_class": per_class, "ablation": ablation})
        whole = {**read_json(tmp_path / folder / "seed-0/run.json"), "seeds": list(range(len(shifts)))}
        write_json(tmp_path / folder / "run.json", whole)
        return tmp_path / folder

    return make
