"""The command line: one typed function a command. What takes long to import is imported when a command runs."""

from neuralfactors.cli import comparing, data, images, solving, training
from neuralfactors.cli.app import app, main

__all__ = ["app", "comparing", "data", "images", "main", "solving", "training"]
