"""What is doubled, while the rest of the program stays as it is (growth_program.c)."""

import os
import subprocess
from dataclasses import dataclass
from typing import Callable

from setup import cached

DOUBLINGS = 5
_FEW_EVENTS = 20_000  # of the program where events are not what grows
_SITES_PASSED = 64


@dataclass(frozen=True)
class Quantity:
    name: str
    smallest: int
    events: Callable  # size -> events that the history has at least
    rules: bool = False  # as many stop rules as the size
    children: bool = False  # by refhist-run --children: GDB only, one time for everything
    apart: int | None = None  # a program is made with so many inlined gets and puts; instructions between them
    libraries: bool = False

    def sizes(self, scale):
        first = max(1, round(self.smallest * scale))
        return [first << doubling for doubling in range(DOUBLINGS + 1)]


def _few(_size):
    return _FEW_EVENTS // 2


QUANTITIES = (
    Quantity("events", 500_000, lambda n: n),
    Quantity("objects", 25_000, lambda n: 4 * n),
    Quantity("leaks", 12_500, lambda n: n),
    Quantity("places of leaks", 64, lambda n: n),
    Quantity("findings", 2_048, lambda n: 3 * n),
    Quantity("places of findings", 64, lambda n: 3 * n),
    Quantity("objects beside findings", 12_500, lambda n: 4 * n),
    Quantity("live threads", 8, _few),
    Quantity("threads ended", 64, _few),
    Quantity("modules", 8, _few, libraries=True),
    Quantity("children", 1, lambda n: 0, children=True),
    Quantity("programs", 1, lambda n: 0, children=True),
    Quantity("sites", 64, _few, apart=8),
    Quantity("sites with breakpoints", 64, lambda n: 2 * _SITES_PASSED, apart=0),
    Quantity("stop rules", 8, lambda n: 100_000, rules=True),
    Quantity("depth", 8, lambda n: 200_000),
    Quantity("life", 500_000, lambda n: n),
)


def program_of(setup, quantity, size, folder):
    """What is run, with its arguments."""
    program = f"{setup.build}/tests/bench/bench_growth_program"
    if quantity.apart is not None:
        turns = _FEW_EVENTS // _SITES_PASSED if quantity.apart else 1  # a breakpoint takes a thousand times as long
        return [_made_program(setup, size, quantity.apart, folder), str(turns)]
    if quantity.rules:
        return [program, "events", "100000"]
    words = [program, quantity.name.replace(" ", "-"), str(size)]
    if quantity.libraries:
        words.append(_libraries(setup, size, folder))
    return words


def _compile(setup, *words):
    subprocess.run([cached(setup.build, "CMAKE_C_COMPILER"), "-g", "-O1", *words], check=True)


def _made_program(setup, size, apart, folder):
    """With a get and a put inlined in each of `size` functions, of which it calls the first few, its argument's number of times.
    Where they lie close together they get breakpoints: a jump has no room."""
    path = f"{folder}/sites{size}_{apart}"
    if not os.path.exists(path):
        with open(path + ".c", "w", encoding="ascii") as text:
            text.write("#include <stdlib.h>\nstruct obj { int refs; };\nstatic volatile long work;\n"
                       "__attribute__((noinline)) struct obj *obj_new(void) {\n"
                       "  struct obj *o = malloc(sizeof *o); o->refs = 1; return o; }\n"
                       "static inline __attribute__((always_inline)) void obj_get(struct obj *o) {\n"
                       "  __atomic_add_fetch(&o->refs, 1, __ATOMIC_SEQ_CST); }\n"
                       "static inline __attribute__((always_inline)) void obj_put(struct obj *o) {\n"
                       "  if (__atomic_sub_fetch(&o->refs, 1, __ATOMIC_SEQ_CST) == 0) free(o); }\n")
            between = " ".join(["++work;"] * apart)
            for number in range(size):
                text.write(f"__attribute__((noinline)) void use{number}(struct obj *o) {{\n"
                           f"  {between} obj_get(o); {between} obj_put(o); {between} }}\n")
            text.write("int main(int argc, char **argv) { struct obj *o = obj_new();\n"
                       "for (int i = argc < 2 ? 0 : atoi(argv[1]); i > 0; --i) {\n")
            text.writelines(f"use{number}(o);\n" for number in range(min(size, _SITES_PASSED)))
            text.write("} obj_put(o); return 0; }\n")
        _compile(setup, path + ".c", "-o", path)
    return path


def _libraries(setup, size, folder):
    """A folder of so many libraries, each a file of its own for the debugger (a build-id)."""
    for number in range(size):
        path = f"{folder}/library{number}.so"
        if not os.path.exists(path):
            with open(f"{folder}/library.c", "w", encoding="ascii") as text:
                text.write("int library_function(int x) { return x + 1; }\n")
            _compile(setup, "-shared", "-fPIC", f"-Wl,--build-id=0x{number + 1:040x}", f"{folder}/library.c", "-o", path)
    return folder


def rules_of(quantity, size):
    """None of them ever stops."""
    return [f"refhist break-on-count --above {1_000_000 + number}" for number in range(size)] if quantity.rules else []
