refhist for GDB
===============

GDB reads /etc/gdb/gdbinit.d/refhist.py when it starts, and knows the command refhist from then on. The rest of refhist
is loaded when the command is first used.

Without refhist: REFHIST_AUTOLOAD=off in the environment. For all users of the machine: an empty
/etc/gdb/gdbinit.d/refhist.py, which an upgrade keeps. `gdb -nx` reads no such files; there, and with
REFHIST_AUTOLOAD=off, this line loads refhist by hand:

    source /usr/share/refhist/refhist.py
