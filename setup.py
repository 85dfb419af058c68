"""The extension module is built by CMake, in the directory of the release preset, so that what is compiled there already need not
be compiled again. ATTRACTOR_BUILD names another one."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


def version():
    return re.search(r"project\(attractor VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        place = pathlib.Path(os.environ.get("ATTRACTOR_BUILD", ROOT / "build" / "release")).resolve()
        options = ["-DATTRACTOR_PYTHON=ON", f"-DPython_EXECUTABLE={os.path.realpath(sys.executable)}"]
        if not (place / "CMakeCache.txt").exists():
            options += ["-DATTRACTOR_TESTS=OFF"]
        self.run_tool("cmake", "--preset", "release", "-S", str(ROOT), "-B", str(place), *options)
        self.run_tool("cmake", "--build", str(place), "--target", "attractor_python")
        made = sorted((place / "python" / "attractor").glob("_core*.so"), key=lambda f: f.stat().st_mtime)
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made[-1], target)

    def run_tool(self, *words):
        try:
            subprocess.run(words, cwd=ROOT, check=True)
        except FileNotFoundError:
            sys.exit(f"{words[0]} was not found; ./demo --python DIR installs what is missing")


setup(version=version(), ext_modules=[Extension("attractor._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
