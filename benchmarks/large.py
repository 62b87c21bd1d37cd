"""A picture of 24 megapixels: seconds and memory of ``neuralfactors predict``, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import harness
import numpy as np
from harness import Report
from PIL import Image

from neuralfactors.datasets import make_scenes, write_scenes

SHAPE, SIDE = (4000, 6000), 3000  # of the picture, and of a picture for a quick run
CLI = (sys.executable, "-m", "neuralfactors")
MEGABYTE = 2**20
TARGETS = {"bow": (8.0, 1000.0), "cnn": (12.0, 1200.0)}  # seconds of processor time and megabytes


def run(*words: object) -> tuple[float, float]:
    """Processor seconds, on all cores together, and peak memory, in megabytes, of a command."""
    process = subprocess.Popen([*CLI, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(process.stderr.read().decode() if process.stderr else "the command failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MEGABYTE


def draw(path: Path, shape: tuple[int, int]) -> None:
    """A generated scene, enlarged, with the noise of a camera."""
    ((scene, _),) = make_scenes(1, shape=(300, 450), random_state=1)
    large = np.asarray(Image.fromarray(scene).resize(shape[::-1], Image.Resampling.BICUBIC)).astype(np.int16)
    noise = np.random.default_rng(0).integers(-8, 9, large.shape, dtype=np.int16)
    Image.fromarray(np.clip(large + noise, 0, 255).astype(np.uint8)).save(path, quality=92)


def measure(report: Report, quick: bool) -> None:
    """One picture by a model of each kind of features."""
    shape = (SIDE // 3, SIDE // 2) if quick else SHAPE
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        scenes = write_scenes(place / "scenes", 12)
        draw(place / "large.jpg", shape)
        case = f"{shape[0] * shape[1] / 1e6:.1f} megapixels"
        for features, (seconds, megabytes) in TARGETS.items():
            options = ("--features", features, "--regions", 300, "--set", "refine=true", "--epochs", 2)
            options += ("--cache", place / "cache", "--quiet")
            run("train", scenes, "--out", place / features, *options)
            taken, memory = run("predict", place / features, place / "large.jpg", "--out", place / "maps")
            report.at_most(f"{case}, {features}", "processor seconds, start included", taken, seconds)
            report.at_most(f"{case}, {features}", "megabytes of memory at most", memory, megabytes)
    report.note("Features are those of the picture reduced to 1024 pixels; labels are painted at its full size.")


if __name__ == "__main__":
    harness.main("A large picture", measure)
