"""Builds libtextmill-tokenizer with the Makefile of the source tree and puts it into the package."""
import os
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
LIBRARY = "libtextmill-tokenizer.so.0"


class build_with_library(build_py):
    def run(self):
        super().run()
        folder = os.path.join(SOURCE, "build")
        subprocess.check_call(["make", "-s", "-C", SOURCE, f"-j{min(os.cpu_count() or 1, 4)}", "MODE=release", f"O={folder}",
                               "tokenizer-library"])
        shutil.copy(os.path.join(folder, "release/lib", LIBRARY), os.path.join(self.build_lib, "textmill_tokenizer"))


class platform_wheel(bdist_wheel):
    """The library is of any Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class with_library(Distribution):
    """The library is the processor's."""

    def has_ext_modules(self):
        return True


with open(os.path.join(SOURCE, "Makefile")) as makefile:
    version = re.search(r"^RELEASE = (\S+)", makefile.read(), re.M).group(1)
setup(version=version, distclass=with_library, cmdclass={"build_py": build_with_library, "bdist_wheel": platform_wheel})
