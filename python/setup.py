"""Builds the extension module with the Makefile of the source tree and puts it into the package."""
import os
import re
import shlex
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)


class build_with_extension(build_py):
    def run(self):
        super().run()
        folder = "build/python"
        flags = os.environ.get("CFLAGS", "") + " " + shlex.quote(f"-ffile-prefix-map={SOURCE}=.")  # the same bytes in any folder
        subprocess.check_call(["make", "-s", "-C", SOURCE, f"-j{min(os.cpu_count() or 1, 4)}", "MODE=release", f"O={folder}",
                               f"CFLAGS={flags}", f"PYTHON={sys.executable}", "python-extension"])
        package = os.path.join(HERE if self.editable_mode else self.build_lib, "textmill_tokenizer")  # editable: with pip install -e
        self.copy_file(os.path.join(SOURCE, folder, "release/python/_core.abi3.so"), package)
        # The licences of what is inside: ours and, as `make wheel` names them, those of the libraries.
        self.mkpath(os.path.join(package, "licences"))
        for path in [os.path.join(SOURCE, "debian/copyright")] + os.environ.get("TEXTMILL_LICENCES", "").split():
            part = os.path.basename(os.path.dirname(path)).replace("debian", "textmill")
            self.copy_file(path, os.path.join(package, "licences", part), preserve_mode=False)


class stable_wheel(bdist_wheel):
    """The extension is for Python 3.11 and later."""

    def get_tag(self):
        return "cp311", "abi3", super().get_tag()[2]


class no_sdist(sdist):
    """An archive of this folder alone would lack the C sources."""

    def run(self):
        raise SystemExit("error: this folder lacks the C sources: `make dist` packs them, too; `make wheel` makes a wheel")


class with_extension(Distribution):
    """The extension is the processor's."""

    def has_ext_modules(self):
        return True


with open(os.path.join(SOURCE, "Makefile")) as makefile:
    version = re.search(r"^RELEASE = (\S+)", makefile.read(), re.M).group(1)
setup(version=version, license="MIT AND Unicode-3.0", distclass=with_extension,
      cmdclass={"build_py": build_with_extension, "bdist_wheel": stable_wheel, "sdist": no_sdist})
