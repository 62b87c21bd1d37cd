"""Run folders as the experiments write them, small and generated, whole or damaged at will."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from neuralfactors._common.files import sealed
from neuralfactors._runs import Ablation, Accuracy, ClassInfo, Epoch, Metrics, Row, Run, RunConfig, RunFolder, Splits
from neuralfactors._runs.records import Examples

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


def change_json(path, **changes):
    """Change a file of a run and its digest with it."""
    write_json(path, {**read_json(path), **changes})


def spaced_colors(n):
    return [((67 * k + 40) % 256, (131 * k + 90) % 256, (29 * k + 150) % 256) for k in range(n)]


def metrics_of(confusion, random, interactions):
    total = confusion.sum(axis=1)
    shares = np.diag(confusion) / total
    alone = [Accuracy(random.uniform(0.1, 0.4), random.uniform(0.05, 0.3)) for _ in range(2)]
    pixel, mean = np.trace(confusion) / confusion.sum(), shares.mean()
    joint = Accuracy(float(pixel), float(mean))
    return Metrics(
        split="test",
        n_images=2,
        pixel=joint.pixel,
        class_mean=joint.class_mean,
        mean_iou=0.7 * joint.class_mean,
        per_class=tuple(shares.tolist()),
        iou=tuple((0.7 * shares).tolist()),
        confusion=confusion,
        ablation=Ablation(*alone, joint),
        interactions=interactions,
    )


def write_map(path, labels, colors):
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(colors) > 255:  # 16 bits of grey, in which 65535 is void
        Image.fromarray(labels.astype(np.uint16)).save(path)
        return
    picture = Image.fromarray(labels.astype(np.uint8))
    # All 256 colours: with fewer, the file has fewer bits a pixel, too few for 255, which is void.
    picture.putpalette([value for color in colors for value in color] + [0, 0, 0] * (256 - len(colors)))
    picture.save(path)


def write_row(folder, names, truths, colors, random, strength):
    n = len(names)
    settings = {"model": {"class": "StructuralSVM", "C": 0.5, "trainer__learning_rate": 0.01 * strength}}
    timing = {"seconds": 10.0 * strength, "seconds_per_epoch": 0.5 * strength, "epochs": 20, "best_epoch": 17}
    folder.row.write(Row(folder.variant, "done", settings, seed=0, balance=0.0, n_train=6, **timing))
    for epoch in range(1, 21):
        folder.add_epoch(
            Epoch(
                epoch,
                objective=500 * strength / epoch + 3,
                hinge=40 / epoch + strength,
                gap=0.1 / epoch,
                accuracy=0.5 + 0.04 * strength * (1 - 1 / epoch),
                seconds={"forward": 0.1 * strength, "inference": 0.15, "backward": 0.1},
            )
        )
    confusion = random.integers(0, 40, (n, n)) + np.diag(random.integers(50, 200, n) * strength)
    table = random.normal(size=(n, n)) + 2 * np.eye(n)
    folder.metrics.write(metrics_of(confusion, random, None if folder.variant == "unary" else table))
    for name, truth in truths.items():
        predicted = np.where(truth >= n, 0, truth)
        wrong = random.random(truth.shape) < 0.5 / strength
        write_map(folder.prediction(name), np.where(wrong, (predicted + 1) % n, predicted), colors)


@pytest.fixture
def make_run(tmp_path):
    """A function that writes a whole run folder: classes, preset and rows can be chosen; two examples."""

    def make(names=("sky", "water", "grass"), preset=None, rows=ROWS, features="bow", folder="run", **settings):
        names, run = list(names), RunFolder(tmp_path / folder)
        random = np.random.default_rng(0)
        colors = spaced_colors(len(names))
        options = {"splits": Splits(test="test"), "seed": 7, "preset": preset, **settings}
        config = RunConfig("/data/scenes", tuple(rows), "compare", {"features": features}, **options)
        run.document.write(
            Run(
                config,
                splits={"train": 6, "val": 2, "test": 2},
                classes=tuple(map(ClassInfo, names, colors)),
                threads=1,
                versions={"neuralfactors": "0.1.0", "torch": "2.13.0"},
                started="2026-01-02T03:04:05",
                finished="2026-01-02T03:24:05",
                command="neuralfactors compare scenes --seed 7 --out run",
            )
        )
        truths = {}
        for name in ("first", "second"):
            truth = np.repeat(np.arange(40)[:, None] * len(names) // 40, 60, axis=1)
            truth[:4, :4] = 255 if len(names) <= 255 else 65535  # void
            truths[name] = truth
            run.example_image(name).parent.mkdir(exist_ok=True)
            noise = random.integers(0, 255, (40, 60, 3)).astype(np.uint8)
            Image.fromarray(noise).save(run.example_image(name))
            write_map(run.example_truth(name), truth, colors)
        run.examples.write(Examples(tuple(truths)))
        for strength, row in enumerate(rows, start=1):
            write_row(run.row(row), names, truths, colors, random, strength)
        return run.path

    return make


@pytest.fixture
def make_comparison(make_run, tmp_path):
    """A function that writes a comparison; `shifts` are added to all accuracies of a seed, so that seeds differ."""

    def make(*names_and_options, shifts=(0.0, 0.01, 0.05), folder="comparison", **options):
        whole = RunFolder(tmp_path / folder)
        for seed, shift in enumerate(shifts):
            run = RunFolder(make_run(*names_and_options, folder=f"{folder}/seed-{seed}", seed=seed, **options))
            for row in run.rows():
                metrics = row.metrics.read()
                figures = {key: shifted(getattr(metrics, key), shift) for key in ("pixel", "class_mean", "mean_iou")}
                joint = Accuracy(figures["pixel"], figures["class_mean"])
                per_class = tuple(shifted(share, shift) for share in metrics.per_class)
                ablation = replace(metrics.ablation, joint=joint)
                row.metrics.write(replace(metrics, **figures, per_class=per_class, ablation=ablation))
        first = whole.seed(0).run()
        whole.document.write(replace(first, seeds=tuple(range(len(shifts)))))
        return whole.path

    return make


def shifted(share, shift):
    return min(1.0, share + shift)
