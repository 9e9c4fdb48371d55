# GDB knows the command refhist from its start on; refhist itself is loaded when the command is first used.
# REFHIST_AUTOLOAD=off in the environment leaves it out, and so does an empty file in the place of this one.
import os

import gdb

_refhist = "/usr/share/refhist/start.py"
if os.environ.get("REFHIST_AUTOLOAD") != "off" and os.path.exists(_refhist):
    gdb.execute("source " + _refhist)
