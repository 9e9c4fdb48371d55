"""Where the parts lie: the same relative places in a build tree and under an install prefix."""

import os
import sysconfig

from .abi import AbiError

LIBRARY = "librefhist.so"


def find(folder):
    """The library for the refhist.py in `folder`: beside it, or in PREFIX/lib for PREFIX/share/refhist."""
    prefix = os.path.dirname(os.path.dirname(folder))
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    places = [folder, *(os.path.join(prefix, lib) for lib in (f"lib/{multiarch}", "lib", "lib64"))]
    for place in places:
        path = os.path.normpath(os.path.join(place, LIBRARY))
        if os.path.exists(path):
            return path
    raise AbiError(f"{LIBRARY} is neither in {folder} nor in {prefix}/lib; build or install refhist again")


def families_folder(folder):
    return os.path.join(folder, "families")
