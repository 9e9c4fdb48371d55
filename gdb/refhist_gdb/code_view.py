"""The program's own code where GDB disassembles: jumps of ours stand in it.

Only an instruction that has to do with one is disassembled here, for GDB 13 shows it without colours then.
"""

import gdb

try:
    import gdb.disassembler as disassembler
except ImportError:  # before GDB 13
    disassembler = None


def register(session):
    if disassembler is None:
        return
    users = disassembler.register_disassembler(_disassembler(session))
    if users is not None:
        disassembler.register_disassembler(users)


def _disassembler(session):
    class Memory(disassembler.DisassembleInfo):
        is_changed = False

        def read_memory(self, length, offset=0):
            code = bytes(super().read_memory(length, offset))
            own = session.own_code(self.address + offset, code)
            self.is_changed |= own != code
            return own

    class OwnCode(disassembler.Disassembler):
        def __init__(self):
            super().__init__("refhist")

        def __call__(self, info):
            if not session.is_shown():
                return None
            memory = Memory(info)
            result = disassembler.builtin_disassemble(memory)
            return result if memory.is_changed else None

    return OwnCode()
