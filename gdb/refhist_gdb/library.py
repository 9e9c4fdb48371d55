"""Where the parts lie: the same relative places in a build tree and under an install prefix."""

import os
import sys

from .abi import AbiError

LIBRARY = "librefhist.so"


def find(folder):
    """The library for the refhist.py in `folder`: beside it, or in PREFIX/lib/refhist for PREFIX/share/refhist."""
    prefix = os.path.dirname(os.path.dirname(folder))
    multiarch = getattr(sys.implementation, "_multiarch", "")  # sysconfig knows it too, and takes 2 ms to load
    for place in (folder, *(f"{prefix}/{lib}/refhist" for lib in (f"lib/{multiarch}", "lib", "lib64"))):
        path = os.path.normpath(os.path.join(place, LIBRARY))
        if os.path.exists(path):
            return path
    raise AbiError(f"{LIBRARY} is neither in {folder} nor in {prefix}/lib/refhist; build or install refhist again")


def families_folder(folder):
    return os.path.join(folder, "families")
