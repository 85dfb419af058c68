"""Builds the package with the setuptools that is there. pip builds in an environment of its own, which sees no package of the
system and would have to fetch one."""
import subprocess
import sys

try:
    import setuptools
except ImportError:
    base = getattr(sys, "_base_executable", sys.executable)
    where = "import setuptools, pathlib; print(pathlib.Path(setuptools.__file__).parent.parent)"
    found = subprocess.run([base, "-I", "-c", where], capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit("attractor needs setuptools and wheel to be built; on Debian: apt install python3-setuptools python3-wheel")
    sys.path.append(found.stdout.strip())

from setuptools.build_meta import *


def get_requires_for_build_wheel(config_settings=None):
    return []  # wheel is where setuptools is


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel
