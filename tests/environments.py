"""Environments that hold a wheel and what it requires, and nothing else: made in a second, without a network."""

import os
import subprocess
import sys
import venv
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from zipfile import Path as ZipPath
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


class Environment:
    """The Python of a folder, and its `site-packages`."""

    def __init__(self, folder):
        venv.create(folder, with_pip=False)
        self.bin = folder / "bin"
        self.site = Path(self("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())

    def __call__(self, *arguments, check=True):
        """The result of a call of its Python."""
        return self.run(self.bin / "python", *arguments, check=check)

    def run(self, program, *arguments, check=True, **options):
        """The result of a call of `program`, which knows nothing of the paths of this process."""
        command = [str(program), *map(str, arguments)]
        settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=settings, **options)
        assert not check or result.returncode == 0, result.stderr
        return result


def install(wheel, extras, folder):
    """An environment with the `wheel`, and links to the installed packages that it requires with these `extras`."""
    made = Environment(folder)
    options = ("--quiet", "--no-deps", "--no-index", "--no-compile")
    made.run(sys.executable, "-m", "pip", "--python", made.bin / "python", "install", *options, wheel)
    (metadata,) = (entry for entry in ZipPath(ZipFile(wheel)).iterdir() if entry.name.endswith(".dist-info"))
    for name in sorted(required(PathDistribution(metadata), extras)):
        link(distribution(name), made.site)
    return made


def required(package, extras=()):
    """Names of all distributions that `package` requires with these `extras`, directly or not."""
    found, left = set(), [(package, extra) for extra in ("", *extras)]
    seen = set()
    while left:
        package, extra = left.pop()
        if (package.name, extra) in seen:
            continue
        seen.add((package.name, extra))
        for line in package.requires or ():
            need = Requirement(line)
            if need.marker is not None and not need.marker.evaluate({"extra": extra}):
                continue
            name = canonicalize_name(need.name)
            if name == canonicalize_name(package.name):  # an extra that contains others
                left += [(package, other) for other in need.extras]
                continue
            installed = distribution(name)
            assert need.specifier.contains(installed.version, prereleases=True), f"{line}: {installed.version} is there"
            found.add(name)
            left += [(installed, other) for other in ("", *need.extras)]
    return found


def link(package, site):
    """Put links to the modules and the metadata of an installed distribution into the folder `site`."""
    tops = {file.parts[0] for file in package.files} - {"..", "__pycache__"}
    for top in tops:
        if not (site / top).exists():
            (site / top).symlink_to(package.locate_file(top))
