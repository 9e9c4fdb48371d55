"""Installs refhist below a prefix, or takes it away again.

usage: prefix.py install BUILD PREFIX
       prefix.py uninstall PREFIX

A list of what was written stays in PREFIX/share/refhist: files, and the folders that had not been there. Uninstalling
removes exactly these, and the caches that Python has made of them.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

_LIST = "share/refhist/installed-files"


class Failure(Exception):
    """One line for the user."""


def _read_list(prefix):
    """Files and folders of an installation, below the prefix."""
    try:
        with open(os.path.join(prefix, _LIST), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return [], []
    return [line for line in lines if not line.endswith("/")], [line[:-1] for line in lines if line.endswith("/")]


def _write_list(prefix, files, folders):
    with open(os.path.join(prefix, _LIST), "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in [*sorted(files), *(f"{folder}/" for folder in sorted(folders))])


def _caches_of(path):
    """What Python has compiled this file into."""
    folder, name = os.path.split(path)
    stem, extension = os.path.splitext(name)
    return glob.glob(f"{glob.escape(folder)}/__pycache__/{stem}.*.pyc") if extension == ".py" else []


def _remove_files(prefix, files):
    for name in files:
        path = os.path.join(prefix, name)
        for gone in [path, *_caches_of(path)]:
            if os.path.lexists(gone):
                os.remove(gone)
        _remove_folders(os.path.dirname(path), ["__pycache__"])


def _remove_folders(prefix, folders):
    """Those that are empty now; the innermost first."""
    for folder in sorted(folders, reverse=True):
        path = os.path.normpath(os.path.join(prefix, folder))
        if os.path.isdir(path) and not os.listdir(path):
            os.rmdir(path)


def _parents(name):
    """The folders that a file is in, the prefix itself last."""
    while name := os.path.dirname(name):
        yield name
    yield "."


def _check_writable(prefix):
    folder = prefix
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK):
        raise Failure(f"{folder} cannot be written to: become root, or choose another place (PREFIX=~/.local)")


def _put_aside(build, prefix, scratch):
    """Everything as it will be, below a scratch folder. Returns that folder."""
    done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], env={**os.environ, "DESTDIR": scratch},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Failure(f"cmake --install says:\n{done.stdout}")
    return os.path.join(scratch, os.path.relpath(prefix, "/"))


def _files_below(folder):
    return [os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names]


def _put_in_place(source, target):
    """A program that uses the file of that name goes on with the old one."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(source, target + ".new", follow_symlinks=False)
    os.replace(target + ".new", target)


def install(build, prefix):
    _check_writable(prefix)
    old_files, old_folders = _read_list(prefix)
    with tempfile.TemporaryDirectory(prefix="refhist-install-") as scratch:
        ready = _put_aside(build, prefix, scratch)
        files = _files_below(ready)
        needed = {folder for name in [*files, _LIST] for folder in _parents(name)}
        made = {folder for folder in needed if not os.path.isdir(os.path.join(prefix, folder))}
        for name in files:
            _put_in_place(os.path.join(ready, name), os.path.join(prefix, name))
    _write_list(prefix, [*files, _LIST], made | set(old_folders))
    _remove_files(prefix, set(old_files) - {*files, _LIST})  # those that only the version before had
    _remove_folders(prefix, set(old_folders) - needed)
    print(f"installed below {prefix}")


def uninstall(prefix):
    files, folders = _read_list(prefix)
    if not files:
        raise Failure(f"refhist is not installed below {prefix}: {os.path.join(prefix, _LIST)} is not there")
    _check_writable(prefix)
    _remove_files(prefix, files)
    _remove_folders(prefix, folders)
    print(f"removed from {prefix}")


def main(command, *paths):
    try:
        *build, prefix = paths
        {"install": install, "uninstall": uninstall}[command](*build, os.path.abspath(os.path.expanduser(prefix)))
    except (Failure, OSError) as problem:
        sys.exit(f"make {command}: {problem}")


main(*sys.argv[1:])
