"""A suite of small programs through ctest, with refhist-run in front of each. usage: launcher.py --debugger D --build DIR --tests N

Every tenth program leaks, every twenty-fifth of the others fails by itself, every thirtieth does not use the family at all: ctest must see just that."""

import argparse
import os
import re
import subprocess
import tempfile

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
struct thing { int refs; };
__attribute__((noinline)) struct thing *thing_new(void) { struct thing *t = malloc(sizeof *t); t->refs = 1; return t; }
__attribute__((noinline)) struct thing *thing_get(struct thing *t) { t->refs++; return t; }
__attribute__((noinline)) void thing_put(struct thing *t) { if (--t->refs == 0) free(t); }
int main(void) {
  struct thing *volatile t = thing_new();
  thing_get(t);
  if (!LEAKS) thing_put(t);
  thing_put(t);
  t = NULL;
  printf("test NUMBER\\n");
  return FAILS ? 7 : 0;
}
"""
WITHOUT = '#include <stdio.h>\nint main(void) { printf("test NUMBER\\n"); return 0; }\n'


def kind(i):
    if i % 10 == 0:
        return "leaks"
    if i % 25 == 1:
        return "fails"
    return "without" if i % 30 == 2 else "clean"


def write_suite(folder, options):
    lines = ["cmake_minimum_required(VERSION 3.20)", "project(suite C)", 'set(CMAKE_C_FLAGS "-g -O1 -no-pie -fno-pie")', "enable_testing()",
             f'set(CMAKE_CROSSCOMPILING_EMULATOR "{options.build}/bin/refhist-run;--debugger;{options.debugger};--track;'
             '--init thing_new --get thing_get --put thing_put --count refs;--propagate-exit;--allow-unarmed;--")']
    for i in range(options.tests):
        text = (WITHOUT if kind(i) == "without" else PROGRAM).replace("NUMBER", str(i))
        text = text.replace("LEAKS", str(int(kind(i) == "leaks"))).replace("FAILS", str(int(kind(i) == "fails")))
        with open(os.path.join(folder, f"t{i}.c"), "w", encoding="utf-8") as file:
            file.write(text)
        lines += [f"add_executable(t{i} t{i}.c)", f"add_test(NAME t{i} COMMAND t{i})",
                  f'set_tests_properties(t{i} PROPERTIES TIMEOUT 60)']
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--debugger", "--build"):
        parser.add_argument(name, required=True)
    parser.add_argument("--tests", type=int, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="refhist-suite-") as folder:
        write_suite(folder, options)
        build = os.path.join(folder, "build")
        subprocess.run(["cmake", "-G", "Ninja", "-B", build, folder], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(["ctest", "--test-dir", build, "-j2", "--output-on-failure"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    outcome = dict(re.findall(r"Test +#\d+: t(\d+) \.+\s*(\**Failed|Passed)", done.stdout))
    wrong = [(i, kind(i), outcome.get(str(i))) for i in range(options.tests)
             if (outcome.get(str(i)) == "Passed") != (kind(i) in ("clean", "without"))]
    assert not wrong and len(outcome) == options.tests, f"{wrong}\n{done.stdout}"
    for i in range(options.tests):
        if kind(i) == "leaks":
            assert re.search(rf"test {i}\nleak: thing 0x", done.stdout), f"no report of test {i}:\n{done.stdout}"
    print(f"{options.tests} tests: {sum(v == 'Passed' for v in outcome.values())} passed, as they should")


main()
