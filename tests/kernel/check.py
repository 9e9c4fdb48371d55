#!/usr/bin/env python3
"""The numbers that refhist counts in a kernel are those that the kernel counts itself.

usage: check.py BUILD FOLDER [DEBUGGER]      FOLDER: where the kernel is kept that is fetched (340 MB to load, 700 MB there)

In one and the same run the kernel's own probes (kprobes) and refhist watch struct file between two marks, in GDB and then in
LLDB: births, copies of get_file, puts, and what the slab cache of files gets back. The guest's time counts instructions
(icount), so that both debuggers see the same run.
"""

import re
import subprocess
import sys
import time

import guest

PROBES = {"put": "fput", "put_sync": "__fput_sync", "born": "alloc_empty_file", "freed": "file_free_rcu"}
FAMILIES = ("file", "slab:filp")
# The kernel's probes come after refhist's breakpoints: they are int3, and GDB takes one that is there before its own
# breakpoint for the program's, and skips it.
SESSION = [
    "hbreak __x64_sys_sethostname",
    "continue",
    "refhist track file slab:filp",
    "continue",
    "refhist status --sites",
    "continue",
    "refhist status --sites",
]
# It ends the debugger.
CHECK = ["refhist check --fail-on unobserved-change,over-put,use-after-free,resurrection,free-while-referenced"]


def copies_of(gdb, vmlinux, function):
    """Where GDB says that the function was inlined: refhist has no part in it."""
    command = [gdb, "-nx", "-q", "-batch", "-ex", f"file {vmlinux}", "-ex", f"break {function}", "-ex", "info breakpoints"]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^1\.\d+ .*(0xffffffff\w+) in ", text, re.MULTILINE)


def write_probes(path, vmlinux):
    with open(path, "w") as file:
        file.write("p:mark __x64_sys_sethostname\n")
        for name, function in PROBES.items():
            file.write(f"p:{name} {function}\n")
        for number, address in enumerate(copies_of("gdb", vmlinux, "get_file")):
            file.write(f"p:get{number} {address}\n")


def kernels_counts(text):
    counted = {name: int(number) for name, number in re.findall(r"^counted (\w+): (\d+)", text, re.MULTILINE)}
    return {
        "births": counted.get("born", 0),
        "gets": sum(number for name, number in counted.items() if name.startswith("get")),
        "puts": counted.get("put", 0) + counted.get("put_sync", 0),
        "frees": counted.get("freed", 0),
        "marks": counted.get("marks", 0),
    }


def refhists_counts(screen):
    """What happened between the two status screens."""
    before, after = (counts_of(part) for part in re.split(r"^Linux \d", screen, flags=re.MULTILINE)[2:4])
    return {key: after[key] - before[key] for key in after}


def counts_of(screen):
    counts = dict.fromkeys(("births", "gets", "puts", "frees"), 0)
    family = ""
    for line in screen.splitlines():
        head = re.match(r"(\S+) \(.*\): \d+ sites? ", line)
        if head:
            family = head.group(1)
        site = re.match(r"    (init|get|put) .*, (\d+) hits?$", line)
        if not site or family not in FAMILIES:
            continue
        role, hits = site.group(1), int(site.group(2))
        if family == "file":
            counts[{"init": "births", "get": "gets", "put": "puts"}[role]] += hits
        elif role == "put":
            counts["frees"] += hits
    return counts


def check(debuggers, name, folder):
    with guest.Guest(folder, "work=2", "count", QEMU_EXTRA="-icount shift=1") as running:
        began = time.monotonic()
        screen = debuggers.run(name, folder, running.port, [*SESSION, "refhist stop", "delete", "continue", *CHECK])
        took = time.monotonic() - began
        running.wait()
        kernel = kernels_counts(running.text())
    refhist = refhists_counts(screen)
    wrong = [key for key in refhist if refhist[key] != kernel[key] or refhist[key] == 0]
    print(f"{name}: " + ", ".join(f"{key} {refhist[key]} (kernel {kernel[key]})" for key in refhist) + f"; {took:.0f} s")
    if kernel["marks"] != 2 or "0 failing the check" not in screen and "no findings" not in screen:
        wrong.append("the session")
    if wrong:
        print(f"{name}: WRONG: {', '.join(wrong)}\n{screen}\n{running.text()}")
    return not wrong


def main():
    build, folder, *only = sys.argv[1:]
    release = guest.fetch(folder)
    debuggers = guest.Debuggers(build)
    write_probes(f"{folder}/probes", f"{folder}/vmlinux")
    guest.pack(folder, f"{folder}/probes")
    print(f"Linux {release}, struct file between two marks:")
    return 0 if all([check(debuggers, name, folder) for name in only or debuggers.names()]) else 1


guest.main(main)
