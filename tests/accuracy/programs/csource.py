"""A careful reader of C source: functions, statements and calls, found in a copy without comments and strings."""

import bisect
import re

IDENT = re.compile(r"[A-Za-z_]\w*")
MASKED = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*", re.S | re.M)
NOT_FUNCTIONS = {"if", "for", "while", "switch", "return", "sizeof", "else", "do", "defined"}


def mask(text):
    """The text with comments, strings and preprocessor lines made blank; offsets and line ends stay."""
    def blank(match):
        part = match.group(0)
        if part[0] == '"' and len(part) >= 2:
            return '"' + "_" * (len(part) - 2) + '"'
        return re.sub(r"[^\n]", " ", part)
    return MASKED.sub(blank, text)


class Function:
    """One function definition: name, its type's text, offsets of the opening and closing brace."""

    def __init__(self, name, head, start, end):
        self.name, self.head, self.start, self.end = name, head, start, end

    def is_void(self):
        """True if the function returns nothing."""
        return bool(re.search(r"\bvoid\s*$", self.head))


class Call:
    """One call: function name, offsets of the whole expression, its argument spans and its place."""

    def __init__(self, name, start, end, args, function):
        self.name, self.start, self.end, self.args, self.function = name, start, end, args, function


class Source:
    """One C file."""

    def __init__(self, text):
        self.text = text
        self.code = mask(text)
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.functions = list(self._find_functions())
        self._opens = [f.start for f in self.functions]

    def line(self, offset):
        """The number of the line that holds an offset, from 1."""
        return bisect.bisect_right(self.starts, offset)

    def line_text(self, number):
        """The code of a line, without comments and strings."""
        end = self.starts[number] if number < len(self.starts) else len(self.code)
        return self.code[self.starts[number - 1]:end]

    def _find_functions(self):
        """Blocks at depth 0 behind a parameter list; a brace in column 0 always ends a function."""
        depth, begin = 0, None
        for match in re.finditer(r"[{}]", self.code):
            at = match.start()
            if match.group() == "{":
                if depth == 0 or at in self.starts_set():
                    begin, depth = at, 0
                depth += 1
                continue
            depth = 0 if at in self.starts_set() else max(0, depth - 1)
            if depth == 0 and begin is not None:
                found = self._function(begin, at)
                if found:
                    yield found
                begin = None

    def starts_set(self):
        """Offsets of the first columns."""
        if not hasattr(self, "_starts"):
            self._starts = set(self.starts)
        return self._starts

    def _function(self, begin, end):
        """The function whose body is begin..end, or None for a struct, an enum or a table."""
        before = self.code[:begin].rstrip()
        before = re.sub(r"\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)$", ")", before)
        if not before.endswith(")"):
            return None
        depth = 0
        for at in range(len(before) - 1, -1, -1):
            depth += (before[at] == ")") - (before[at] == "(")
            if depth == 0:
                break
        head = before[:at].rstrip()
        name = re.search(r"([A-Za-z_]\w*)$", head)
        if not name:
            return None
        first = max(head.rfind(";", 0, name.start()), head.rfind("}", 0, name.start())) + 1
        return Function(name.group(1), head[first:name.start()].strip(), begin, end)

    def function_at(self, offset):
        """The function around an offset, or None."""
        index = bisect.bisect_right(self._opens, offset) - 1
        if index < 0 or self.functions[index].end < offset:
            return None
        return self.functions[index]

    def closing(self, opening):
        """The offset of the bracket that closes the one at `opening`, or -1."""
        depth = 0
        for at in range(opening, len(self.code)):
            char = self.code[at]
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
                if depth == 0:
                    return at
        return -1

    def arguments(self, opening, closing):
        """Spans of the arguments between two round brackets."""
        spans, depth, begin = [], 0, opening + 1
        for at in range(opening + 1, closing):
            char = self.code[at]
            depth += (char in "([{") - (char in ")]}")
            if char == "," and depth == 0:
                spans.append((begin, at))
                begin = at + 1
        spans.append((begin, closing))
        return [self.trim(a, b) for a, b in spans if self.code[a:b].strip()]

    def trim(self, begin, end):
        """A span without blanks at its ends."""
        while begin < end and self.code[begin].isspace():
            begin += 1
        while end > begin and self.code[end - 1].isspace():
            end -= 1
        return begin, end

    def calls(self, names):
        """All calls of the named functions, in order."""
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(map(re.escape, sorted(names))) + r")\s*\(")
        for match in pattern.finditer(self.code):
            function = self.function_at(match.start())
            end = self.closing(match.end() - 1)
            if function is None or end < 0:
                continue
            yield Call(match.group(1), match.start(), end + 1, self.arguments(match.end() - 1, end), function)

    def before(self, offset):
        """Offset of the last code character in front of `offset`."""
        at = offset - 1
        while at >= 0 and self.code[at].isspace():
            at -= 1
        return at

    def after(self, offset):
        """Offset of the first code character from `offset` on."""
        while offset < len(self.code) and self.code[offset].isspace():
            offset += 1
        return offset

    def statement(self, call):
        """The span of the call with its semicolon if it is a statement of its own, else None."""
        begin = call.start
        cast = re.search(r"\(\s*void\s*\)\s*$", self.code[:begin])
        if cast:
            begin = cast.start()
        end = self.after(call.end)
        if self.code[end:end + 1] != ";" or not self.starts_statement(begin):
            return None
        return begin, end + 1

    def starts_statement(self, begin):
        """True if a statement starts at this offset."""
        at = self.before(begin)
        if self.code[at] in ";{}:":
            return self.code[at] != ":" or bool(re.search(r"(?:^|[;{}\s])(?:case\b[^?;{}]*|default|[A-Za-z_]\w*)\s*$",
                                                         self.code[max(0, at - 80):at]))
        if self.code[at] == ")":
            return self._is_condition(at)
        return bool(re.search(r"\b(?:else|do)$", self.code[:at + 1]))

    def _is_condition(self, closing):
        """True if the round bracket that ends here is that of an if, for or while."""
        depth = 0
        for at in range(closing, -1, -1):
            depth += (self.code[at] == ")") - (self.code[at] == "(")
            if depth == 0:
                return bool(re.search(r"\b(?:if|for|while|\w*[Ff][Oo][Rr]_?[Ee][Aa][Cc][Hh]\w*)\s*$", self.code[:at]))
        return False

    def is_body(self, begin):
        """True if a statement is the braceless body of an if, a loop or an else."""
        at = self.before(begin)
        return self.code[at] == ")" or bool(re.search(r"\b(?:else|do)$", self.code[:at + 1]))

    def next_assignment(self, offset):
        """(left side, span, right side) of the assignment that is the next statement, or None."""
        begin = self.after(offset)
        match = re.compile(r"([^;{}=()]+?)\s*=(?!=)([^;]*);").match(self.code, begin)
        if not match:
            return None
        return squeeze(match.group(1)), (begin, match.end()), match.group(2).strip()

    def code_line_near(self, number, step, first, last):
        """The next line in one direction that holds more than brackets; None outside first..last."""
        number += step
        while first <= number <= last:
            if re.search(r"\w", self.line_text(number)):
                return number
            number += step
        return None

    def loop_variable(self, offset, function):
        """The counting variable of the innermost `for (i = 0; …; i++)` around an offset, or None."""
        best = None
        pattern = re.compile(r"\bfor\s*\(")
        for match in pattern.finditer(self.code, function.start, offset):
            close = self.closing(match.end() - 1)
            head = re.match(r"\s*(?:(?:int|unsigned|guint|gint|size_t)\s+)?([A-Za-z_]\w*)\s*=\s*0\s*;.*;\s*"
                            r"(?:\1\s*\+\+|\+\+\s*\1)\s*$", self.code[match.end():close], re.S)
            body = self.after(close + 1)
            end = self.closing(body) if self.code[body] == "{" else self.code.find(";", body)
            if body <= offset <= end:
                best = head.group(1) if head else None
        return best


def squeeze(text):
    """An expression without blanks, for comparisons."""
    return re.sub(r"\s+", "", text)
