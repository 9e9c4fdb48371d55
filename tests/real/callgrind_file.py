"""Reads a file that callgrind wrote with --dump-instr=yes: calls between functions, executions of instructions.

Format: https://valgrind.org/docs/manual/cl-format.html. Names and numbers are compressed: `fn=(3) name` defines what
`fn=(3)` repeats; an address is absolute, `+N` or `-N` from the one before, or `*` for the same. The line after `calls=`
has the inclusive cost of the call and is no execution of its own. With --separate-callers1=FN the name of FN is
`FN'caller`.
"""

import collections


class CallgrindFile:
    """calls[(caller, callee)]: how often, by the names in the file.
    executed[(object file, function)][address in the object file]: how often that instruction ran."""

    def __init__(self, path):
        self.calls = collections.Counter()
        self.executed = collections.defaultdict(collections.Counter)
        self._functions = {}
        self._objects = {}
        with open(path) as lines:
            self._read(lines)

    def calls_of(self, function):
        return sum(self.callers(function).values())

    def callers(self, function):
        """Calls of a function by each of its callers."""
        callers = collections.Counter()
        for (caller, callee), count in self.calls.items():
            if plain(callee) == function:
                callers[plain(caller)] += count
        return callers

    def executions(self, object_file, address):
        return sum(at[address] for (where, _), at in self.executed.items() if where == object_file)

    @staticmethod
    def _name(text, known):
        number, _, name = text.partition(" ")
        if name:
            known[number] = name
        return known[number]

    def _read(self, lines):
        object_file = function = callee = None
        address = calls = 0
        for line in lines:
            key, equals, rest = line.rstrip("\n").partition("=")
            if equals and key == "fn":
                function = self._name(rest, self._functions)
            elif equals and key == "cfn":
                callee = self._name(rest, self._functions)
            elif equals and key == "ob":
                object_file = self._name(rest, self._objects)
            elif equals and key == "cob":
                self._name(rest, self._objects)
            elif equals and key == "calls":
                calls = int(rest.split()[0])
            elif line[0] in "+-*0123456789":
                position, _, cost = line.split()
                address = self._address(position, address)
                if calls:
                    self.calls[(function, callee)] += calls
                    calls = 0
                else:
                    self.executed[(object_file, function)][address] += int(cost)

    @staticmethod
    def _address(position, before):
        if position == "*":
            return before
        return before + int(position) if position[0] in "+-" else int(position, 16)


def plain(name):
    """The function of a name that carries its caller."""
    return name.partition("'")[0]
