"""Prints Debian's changelog, made from the first section of CHANGELOG.md.

usage: changelog.py CHANGELOG VERSION SUFFIX MAINTAINER SECONDS

VERSION is that of CMakeLists.txt, SUFFIX names the suite ("+deb12"), SECONDS is when the sources last changed. Packages
of sources that were not released yet have a version below VERSION that grows with every change.
"""

import email.utils
import re
import sys
import textwrap
import time


def first_section(text):
    """Its title and its list, one string for each item."""
    title, body = re.search(r"^## \[?([^\]\n]+)\]?[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL).groups()
    items = re.findall(r"^- (.*?)(?=^- |^#|^$|\Z)", body, re.MULTILINE | re.DOTALL)
    return title, [" ".join(item.split()) for item in items]


def plain(text):
    """Without the marks of Markdown."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def main(path, version, suffix, maintainer, seconds):
    with open(path, encoding="utf-8") as file:
        title, items = first_section(file.read())
    released = title != "Unreleased"
    if released and title != version:
        sys.exit(f"{path} begins with version {title}, and CMakeLists.txt says {version}")
    if not released:
        version += time.strftime("~%Y%m%d.%H%M%S", time.gmtime(int(seconds)))
    print(f"refhist ({version}{suffix}) {'unstable' if released else 'UNRELEASED'}; urgency=medium\n")
    for item in items:
        print(textwrap.fill(plain(item), 78, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False))
    print(f"\n -- {maintainer}  {email.utils.formatdate(int(seconds))}")


main(*sys.argv[1:])
