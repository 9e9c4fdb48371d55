#!/usr/bin/env python3
"""Makes mutants of real programs: one wrong reference count each, always the same for the same source.

  mutate.py --list PROGRAM [SOURCE]   the committed mutants, or with SOURCE every place that can be mutated
  mutate.py --apply ID SOURCE         writes the mutated file in place, prints the guilty file and lines as JSON
  mutate.py --revert [SOURCE]         takes the last mutant back (SOURCE: the current folder if left out)
  mutate.py --probe PROGRAM SOURCE    writes counters into every place (see prove.py); taken back by --revert
"""

import argparse
import fnmatch
import json
import pathlib
import re
import sys
import tomllib

from csource import Source, squeeze

HERE = pathlib.Path(__file__).resolve().parent
STATE = ".refmutant.json"
KINDS = {  # operator: (kind, counts)
    "drop-put": ("missing-put", "surplus"),
    "skip-put": ("missing-put", "surplus"),
    "early-return": ("missing-put", "surplus"),
    "overwrite": ("overwritten", "surplus"),
    "double-get": ("missing-put", "surplus"),
    "borrow-get": ("missing-put", "surplus"),
    "steal-get": ("missing-put", "surplus"),
    "double-put": ("extra-put", "deficit"),
    "borrow-put": ("extra-put", "deficit"),
    "steal-put": ("extra-put", "deficit"),
    "drop-get": ("missing-get", "deficit"),
}
PROBE = r"""
static __attribute__((unused)) int refmutant_length(const char *s) { int n = 0; while (s[n]) n++; return n; }
static __attribute__((unused)) long refmutant_call(long n, long a, long b, long c) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
}
static __attribute__((unused)) void refmutant_probe(const char *id, const void *object) {
  extern char *getenv(const char *);
  const char *log = getenv("REFMUTANT_LOG");
  long fd;
  if (!object || !log) return;
  fd = refmutant_call(2, (long)log, 02001, 0);
  refmutant_call(1, fd, (long)id, refmutant_length(id));
  refmutant_call(3, fd, 0, 0);
}
#line 1
"""


def load(name):
    """One of the TOML files beside this script."""
    path = HERE / name
    return tomllib.loads(path.read_text()) if path.exists() else {}


def program(name):
    """The entry of one program."""
    for entry in load("programs.toml").get("program", []):
        if entry["name"] == name:
            return entry
    sys.exit(f"no program {name} in programs.toml")


class Names:
    """The counted types of a program: which function is a get, a put, a borrow, a steal."""

    def __init__(self, entry):
        self.get, self.put, self.borrow, self.steal, self.lookup = {}, {}, {}, {}, {}
        for kind in entry["type"]:
            for name in kind.get("get", []):
                self.get[name] = kind
            for name in kind.get("put", []) + kind.get("put_list", []):
                self.put[name] = kind
            for name in kind.get("borrow", []):
                self.borrow[name] = kind
            for item in kind.get("steal", []):
                self.steal[item["function"]] = (kind, item["argument"])
            for name in kind.get("lookup", []):
                self.lookup[name] = kind

    def all(self):
        """Every name that a place can have."""
        return [*self.get, *self.put, *self.borrow, *self.steal, *self.lookup]


class Mutant:
    """One change of one file."""

    def __init__(self, operator, source, call, span, text, guilty=None, k=None):
        self.operator, self.source, self.call = operator, source, call
        self.span, self.text, self.k = span, text, k
        self.kind, self.counts = KINDS[operator]
        begin, end = guilty or span
        self.guilty = list(range(source.line(begin), source.line(end - 1) + 1))

    def apply(self):
        """The mutated text; the number of lines stays."""
        begin, end = self.span
        old = self.source.text[begin:end]
        missing = old.count("\n") - self.text.count("\n")
        return self.source.text[:begin] + self.text + "\n" * missing + self.source.text[end:]

    def accepted(self, names):
        """Lines that a maintainer would take as the answer too."""
        source, function = self.source, self.call.function
        first, last = source.line(function.start), source.line(function.end)
        places = [self.guilty[0], self.guilty[-1], *self._statement_lines()]
        lines = set(places)
        for line in places:
            lines |= {line - 1, line + 1, source.code_line_near(line, -1, first, last),
                      source.code_line_near(line, 1, first, last)}
        if self.counts == "surplus":
            lines |= self._returns() | {last} | self._gets(names)
        lines = {n for n in lines if n and first <= n <= last and (n == last or re.search(r"\w", source.line_text(n)))}
        return sorted(lines - set(self.guilty))

    def _statement_lines(self):
        """The first and the last line of the changed text."""
        return [self.source.line(self.span[0]), self.source.line(self.span[1] - 1)]

    def _returns(self):
        """Lines of the returns behind the place, in the same function."""
        code, function = self.source.code, self.call.function
        return {self.source.line(m.start()) for m in
                re.compile(r"\breturn\b").finditer(code, self.span[0], function.end)}

    def _gets(self, names):
        """The nearest lines above, in the same function, where the lost reference came from."""
        source, function = self.source, self.call.function
        if not self.call.args or self.operator not in ("drop-put", "skip-put", "overwrite", "early-return"):
            return set()
        begin, end = self.call.args[0]
        value = squeeze(source.code[begin:end]).lstrip("&")
        value = re.sub(r"^\((?:\w|\*)+\)", "", value)
        value = re.sub(r"^[A-Z_]+\((\w+)\)$", r"\1", value)
        stored, taken = [], []
        for match in re.compile(r"([^;{}=()]+?)\s*=(?!=)\s*([^;]*);").finditer(source.code, function.start, self.span[0]):
            left = squeeze(match.group(1))
            if left.endswith(value) and not re.match(r"[\w.>]", left[:-len(value)][-1:].replace("*", "")) \
                    and "(" in match.group(2):
                stored.append({source.line(source.after(match.start(1))), source.line(match.start(2))})
        for call in source.calls(names.get):
            if call.function is function and call.start < self.span[0] and call.args and \
                    squeeze(source.code[slice(*call.args[0])]) == value:
                taken.append({source.line(call.start)})
        for match in re.compile(r"[(,]\s*&\s*" + re.escape(value) + r"\s*[,)]").finditer(
                source.code, function.start, self.span[0]):
            if not re.search(r"\bg\w*_clear_\w+\s*$", source.code[:match.start()]):
                stored.append({source.line(match.start())})
        stored.sort(key=min)
        return set().union(*stored[-1:], *taken[-1:])


def simple(text):
    """True if an argument can be evaluated twice."""
    return not re.search(r"\w\s*\(|\+\+|--|(?<![=!<>])=(?!=)", text)


def put_mutants(source, call, kind):
    """The mutants of one put."""
    span = source.statement(call)
    if not span or not call.args:
        return
    text = source.text[span[0]:span[1]]
    argument = squeeze(source.code[slice(*call.args[0])])
    following = source.next_assignment(span[1])
    if following and following[0] == argument and not re.match(r"(?:\(.*\))?(?:NULL|0|nullptr)$", following[2]) \
            and not source.is_body(span[0]):
        yield Mutant("overwrite", source, call, span, ";", guilty=following[1])
    else:
        yield Mutant("drop-put", source, call, span, ";")
    yield Mutant("skip-put", source, call, span, skipped(source, call, span), k=0)
    if call.function.is_void():
        early = "if (refs_seen++ == %dU) return; "
        yield Mutant("early-return", source, call, span, "{ static unsigned int refs_seen; " + early + text + " }", k=0)
    if simple(source.code[slice(*call.args[0])]) and not call.name.startswith(("g_clear", "gst_clear")) \
            and call.name not in kind.get("put_list", []):
        twice = text + " " + " ".join(text.split())
        yield Mutant("double-put", source, call, span, "{ " + twice + " }" if source.is_body(span[0]) else twice)


def skipped(source, call, span):
    """The statement under a condition that is false once: on the loop's variable, else on a counter."""
    text = source.text[span[0]:span[1]]
    variable = source.loop_variable(span[0], call.function)
    if variable:
        return "{ if (" + variable + " != %d) " + text + " }"
    return "{ static unsigned int refs_seen; if (refs_seen++ != %dU) " + text + " }"


def get_mutants(source, call, kind):
    """The mutants of one get."""
    if not call.args:
        return
    text = source.text[call.start:call.end]
    argument = source.text[slice(*call.args[0])]
    returns = kind.get("returns", "pointer")
    span = source.statement(call)
    if span:
        yield Mutant("drop-get", source, call, span, ";")
        if simple(argument):
            statement = source.text[span[0]:span[1]]
            yield Mutant("double-get", source, call, span, "{ " + statement + " " + " ".join(statement.split()) + " }")
        return
    place = (call.start, call.end)
    if returns == "pointer":
        yield Mutant("drop-get", source, call, place, "(" + argument + ")")
        rest = source.text[call.args[0][1]:call.end]
        yield Mutant("double-get", source, call, place, call.name + "(" + text + rest)
    elif returns == "int" and simple(argument):
        yield Mutant("drop-get", source, call, place, "1")
        yield Mutant("double-get", source, call, place, "(" + text + ", " + text + ")")


def owner_functions(kind):
    """The get and the put that a user of the type would write."""
    return kind.get("get", [None])[0], kind.get("put", [None])[0]


def borrow_mutants(source, call, kind):
    """A borrowed pointer is given back, or taken again for nothing: `x = borrow(…);`."""
    get, put = owner_functions(kind)
    match = re.search(r"([A-Za-z_]\w*)\s*=\s*$", source.code[:call.start])
    end = source.after(call.end)
    if not match or source.code[end] != ";":
        return
    place = (call.start, call.end)
    if get and kind.get("returns", "pointer") == "pointer" and kind.get("null_get", True):
        yield Mutant("borrow-get", source, call, place, get + "(" + source.text[call.start:call.end] + ")")
    begin = source.before(match.start(1) + 1)
    if put and source.starts_statement(begin):
        name = match.group(1)
        text = source.text[begin:end + 1] + " " + ("" if kind.get("null_put", True) else f"if ({name}) ") + f"{put}({name});"
        yield Mutant("borrow-put", source, call, (begin, end + 1),
                     "{ " + text + " }" if source.is_body(begin) else text)


def steal_mutants(source, call, kind, number):
    """A callee takes the reference over; the caller gives it away twice or keeps one."""
    get, put = owner_functions(kind)
    if len(call.args) < number:
        return
    begin, end = call.args[number - 1]
    value = source.text[begin:end]
    if re.match(r"NULL$|0$", value):
        return
    if get and kind.get("returns", "pointer") == "pointer":
        text = source.text[call.start:begin] + get + "(" + value + ")" + source.text[end:call.end]
        yield Mutant("steal-get", source, call, (call.start, call.end), text)
    span = source.statement(call)
    if span and put and re.match(r"[A-Za-z_]\w*$", value):
        text = source.text[span[0]:span[1]] + f" {put}({value});"
        yield Mutant("steal-put", source, call, span, "{ " + text + " }" if source.is_body(span[0]) else text)


def mutants_of(source, call, names):
    """All mutants of one call."""
    if call.name in names.put:
        yield from put_mutants(source, call, names.put[call.name])
    elif call.name in names.get:
        yield from get_mutants(source, call, names.get[call.name])
    elif call.name in names.lookup:
        get, _ = owner_functions(names.lookup[call.name])
        place = (call.start, call.end)
        yield Mutant("double-get", source, call, place, get + "(" + source.text[call.start:call.end] + ")")
    elif call.name in names.borrow:
        yield from borrow_mutants(source, call, names.borrow[call.name])
    else:
        yield from steal_mutants(source, call, *names.steal[call.name])


def places(source, names, own):
    """(place id, call) of every call; the place is function:called:number; bodies of get and put are left out."""
    numbers = {}
    for call in source.calls(names.all()):
        if call.function.name in own:
            continue
        key = call.function.name, call.name
        numbers[key] = numbers.get(key, 0) + 1
        yield f"{key[0]}:{key[1]}:{numbers[key]}", call


def files(entry, root):
    """The files of a program that may be mutated."""
    found = []
    for pattern in entry["mutable"]:
        found += sorted(root.glob(pattern))
    return [p for p in dict.fromkeys(found) if not any(fnmatch.fnmatch(str(p.relative_to(root)), bad)
                                                       for bad in entry.get("not_mutable", []))]


def candidates(entry, root):
    """(id, file, place, mutant) of every mutant; skip-put and early-return have a number at their end."""
    names = Names(entry)
    for path in files(entry, root):
        source = Source(path.read_text(encoding="utf-8", errors="surrogateescape"))
        relative = str(path.relative_to(root))
        for place, call in places(source, names, set(names.get) | set(names.put)):
            for mutant in mutants_of(source, call, names):
                yield f"{entry['name']}:{path.name}:{place}:{mutant.operator}", relative, place, mutant


def find(ident, root):
    """The file and the mutant of an id; `@K` at the end is the number of the run that goes wrong."""
    plain, _, k = ident.partition("@")
    entry = program(plain.split(":")[0])
    for known, relative, _, mutant in candidates(entry, root):
        if known == plain:
            if mutant.k is not None:
                mutant.text = mutant.text.replace("%d", str(int(k or 0)), 1)
            return relative, mutant
    sys.exit(f"no mutant {ident}")


def keep(root, texts):
    """Write changed files; the old texts are kept for --revert."""
    state = root / STATE
    if state.exists():
        sys.exit(f"{root}: a mutant is applied; --revert first")
    old = {name: (root / name).read_text(encoding="utf-8", errors="surrogateescape") for name in texts}
    state.write_text(json.dumps(old))
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8", errors="surrogateescape")


def revert(root):
    """Give the files their old texts back; returns their names."""
    state = root / STATE
    if not state.exists():
        return []
    old = json.loads(state.read_text())
    for name, text in old.items():
        (root / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    state.unlink()
    return list(old)


def apply(ident, root):
    """Write one mutant; returns what the corpus knows about it."""
    relative, mutant = find(ident, root)
    keep(root, {relative: mutant.apply()})
    return {"id": ident, "operator": mutant.operator, "kind": mutant.kind, "counts": mutant.counts,
            "file": relative, "function": mutant.call.function.name, "guilty": mutant.guilty,
            "accepted": mutant.accepted(Names(program(ident.split(":")[0])))}


def probe_wraps(source, name, found, names):
    """(begin, end, text before, text behind) around every counted expression."""
    for place, call in found:
        ident = json.dumps(f"{name}:{place}\n")
        count = f"); refmutant_probe({ident}, (const void *)refmutant_v); refmutant_v; }})"
        number = names.steal[call.name][1] if call.name in names.steal else 1
        if call.name in names.borrow or call.name in names.lookup:
            yield call.start, call.end, "({ __auto_type refmutant_v = (", count
        elif len(call.args) >= number:
            begin, end = call.args[number - 1]
            value = source.text[begin:end]
            if re.match(r"(?:NULL|0)$", value):
                continue
            if call.name.startswith(("g_clear", "gst_clear")):
                yield call.start, call.end, f"(refmutant_probe({ident}, (const void *)*({value})), ", ")"
            else:
                yield begin, end, "({ __auto_type refmutant_v = (", count


def probed(source, name, found, names):
    """The text of a file with a counter around the counted argument of every place."""
    edits = []
    for begin, end, before, behind in probe_wraps(source, name, found, names):
        edits += [(begin, 1, -end, before), (end, 0, -begin, behind)]
    parts, last = [], 0
    for at, _, _, new in sorted(edits):
        parts += [source.text[last:at], new]
        last = at
    return PROBE + "".join(parts) + source.text[last:]


def probe(entry, root):
    """Write counters into every file of a program."""
    names = Names(entry)
    texts = {}
    for path in files(entry, root):
        source = Source(path.read_text(encoding="utf-8", errors="surrogateescape"))
        found = list(places(source, names, set(names.get) | set(names.put)))
        if found:
            texts[str(path.relative_to(root))] = probed(source, path.name, found, names)
    keep(root, texts)
    return list(texts)


def show(name, root):
    """Print the mutants of a program."""
    if root is None:
        for mutant in load("mutants.toml").get("mutant", []):
            if mutant["program"] == name:
                print(f"{mutant['id']}  {mutant['kind']}  {mutant['file']}:{mutant['guilty'][0]}")
        return
    for ident, relative, _, mutant in candidates(program(name), root):
        print(f"{ident}  {mutant.kind}  {relative}:{mutant.guilty[0]}")


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", metavar="PROGRAM")
    parser.add_argument("--apply", metavar="ID")
    parser.add_argument("--probe", metavar="PROGRAM")
    parser.add_argument("--revert", action="store_true")
    parser.add_argument("source", nargs="?", type=pathlib.Path)
    args = parser.parse_args()
    root = args.source.resolve() if args.source else None
    if args.list:
        show(args.list, root)
    elif args.revert:
        print(json.dumps(revert(root or pathlib.Path.cwd())))
    elif args.apply and root:
        print(json.dumps(apply(args.apply, root)))
    elif args.probe and root:
        print(json.dumps(probe(program(args.probe), root)))
    else:
        parser.error("nothing to do")


if __name__ == "__main__":
    main()
