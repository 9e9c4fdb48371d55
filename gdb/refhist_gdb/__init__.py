"""The GDB front end: GDB's Python API on one side, refhist's C ABI on the other, no logic of its own.

  library.py        where the parts lie
  abi.py            types and signatures of refhist.h
  session.py        the core's session and the process that it follows
  port.py           what the core asks of the debugger
  mappings.py       what is loaded where on targets that the core cannot read itself (elf.py: in their files)
  front_end.py      who reads what GDB says: a terminal, GDB/MI
  dap.py            ... a client of GDB's DAP server
  breakpoints.py    breakpoints of ours: internal, one for each address
  exit_catch.py     the catchpoint of break-on-leak --raw-exit
  stop_signal.py    SIGSTOP, with which the core halts threads that GDB lets run
  ending.py         the thread that ends the program waits for what stopped the others
  code_symbols.py   symbols of the code that the core puts into the program
  code_view.py      the program's own code in what GDB disassembles
  repeated_hits.py  one hit that GDB reports twice
  link_map.py       dlopen and dlclose, seen in time
  events.py         GDB's events -> notices for the core, stop reasons -> the screen
  commands.py       refhist and break-on-...
  values.py         what a GDB value means as an address
  parameters.py     set/show refhist ...
  function.py       $refhist_count(ADDRESS)
  children.py       for refhist-run: children of fork go to debuggers of their own
  nursery.py        for refhist-run: the GDB of which the debuggers of children are forks
  crash_stops.py    for refhist-run: the program stops at the signals of a crash, and goes on
  errors.py         where an error becomes GDB's
"""

from . import abi, code_view, commands, events, function, library, parameters
from .session import Session

_loaded = None


def loaded():
    """The session that `load` has made."""
    return _loaded


def load(folder):
    """Makes the session and registers commands, parameters and events; loading twice changes nothing.

    Returns why it cannot be done, None when it is.
    """
    global _loaded
    if _loaded is not None:
        return None
    try:
        session = Session(abi.open_library(library.find(folder)), library.families_folder(folder))
    except abi.AbiError as error:
        return str(error)
    commands.register(session)
    parameters.register(session)
    function.register(session)
    code_view.register(session)
    events.connect(session)
    _loaded = session
    return None
