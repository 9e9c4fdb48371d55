#!/usr/bin/env python3
"""Holds gdb/refhist_gdb/abi.py against core/include/refhist/refhist.h: every constant, member and signature.

usage: gdb_abi_check.py HEADER GDB_FOLDER
"""

import ctypes
import importlib.util
import os
import re
import sys

SCALARS = {
    "int": ctypes.c_int,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "void": None,
}


class Checker:
    def __init__(self, header, abi):
        self.abi = abi
        self.text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
        self.problems = []

    def expect(self, what, found, wanted):
        if found != wanted:
            self.problems.append(f"{what}: abi.py has {found}, the header wants {wanted}")

    def ctype(self, text):
        """The ctypes type of a C parameter or result; a trailing parameter name is dropped."""
        words = re.sub(r"\bconst\b", " ", text).replace("*", " * ").split()
        if not words:
            return None
        base, stars = words[0], words.count("*")
        if base == "rh_sink":
            return self.abi.SINK
        if base == "rh_session" and stars == 1:
            return ctypes.c_void_p
        if base == "rh_port" and stars == 1:
            return ctypes.POINTER(self.abi.RhPort)
        if base == "char" and stars:
            return ctypes.c_char_p if stars == 1 else ctypes.POINTER(ctypes.c_char_p)
        if base == "void" and stars == 1:
            return ctypes.c_void_p
        if base in SCALARS and stars <= 1:
            return ctypes.POINTER(SCALARS[base]) if stars else SCALARS[base]
        raise ValueError(f"no ctypes type is known for {text!r}")

    def signature(self, result, parameters):
        parameters = parameters.strip()
        given = [] if parameters in ("", "void") else [self.ctype(p) for p in parameters.split(",")]
        return self.ctype(result), given

    def check_constants(self):
        defines = re.findall(r"#define RH_(\w+) (\d+)", self.text)
        for name, value in defines:
            self.expect(f"RH_{name}", getattr(self.abi, name, None), int(value))
        for body in re.findall(r"\benum \w+ \{(.*?)\};", self.text, flags=re.DOTALL):
            next_value = 0
            for name, value in re.findall(r"RH_(\w+)(?: = (\d+))?", body):
                next_value = int(value) if value else next_value
                self.expect(f"RH_{name}", getattr(self.abi, name, None), next_value)
                next_value += 1
        return len(defines)

    def check_callback(self, name, kind, result, parameters):
        wanted = self.signature(result, parameters)
        self.expect(name, (kind._restype_, list(kind._argtypes_)), wanted)

    def check_sink(self):
        result, parameters = re.search(r"typedef (\w+) \(\*rh_sink\)\((.*?)\);", self.text).groups()
        self.check_callback("rh_sink", self.abi.SINK, result, parameters)

    def check_port(self):
        body = re.search(r"typedef struct rh_port \{(.*?)\} rh_port;", self.text, flags=re.DOTALL).group(1)
        members = ["name"]
        for result, name, parameters in re.findall(r"(\w+) \(\*(\w+)\)\((.*?)\);", body, flags=re.DOTALL):
            members.append(name)
            if name in self.abi.CALLBACKS:
                self.check_callback(f"rh_port.{name}", self.abi.CALLBACKS[name], result, parameters)
        self.expect("members of rh_port", [field[0] for field in self.abi.RhPort._fields_], members)
        return len(members)

    def check_functions(self):
        after_port = self.text[self.text.index("} rh_port;") :]
        found = re.findall(r"^([a-z].*?)\b(rh_\w+)\((.*?)\);", after_port, flags=re.MULTILINE | re.DOTALL)
        self.expect("functions", sorted(self.abi.FUNCTIONS), sorted(name for _, name, _ in found))
        for result, name, parameters in found:
            if name in self.abi.FUNCTIONS:
                have = self.abi.FUNCTIONS[name]
                self.expect(name, (have[0], list(have[1])), self.signature(result, parameters))
        return len(found)


def load_abi(folder):
    spec = importlib.util.spec_from_file_location("abi", os.path.join(folder, "refhist_gdb", "abi.py"))
    abi = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(abi)
    return abi


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as header:
        checker = Checker(header.read(), load_abi(sys.argv[2]))
    constants = checker.check_constants()
    checker.check_sink()
    members = checker.check_port()
    functions = checker.check_functions()
    if min(constants, members, functions) < 2:
        checker.problems.append("the header could not be understood: too little was found in it")
    for problem in checker.problems:
        print(problem)
    print(f"{functions} functions, {members} members, {len(checker.problems)} differences")
    sys.exit(1 if checker.problems else 0)


if __name__ == "__main__":
    main()
