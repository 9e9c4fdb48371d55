"""What a GDB value means as an address."""

import gdb

_MASK = (1 << 64) - 1
_NUMBERS = (
    gdb.TYPE_CODE_PTR,
    gdb.TYPE_CODE_INT,
    gdb.TYPE_CODE_ENUM,
    gdb.TYPE_CODE_CHAR,
    gdb.TYPE_CODE_BOOL,
)
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


def address_of(value):
    """A pointer or number is itself, a reference what it refers to, anything else in memory where it lies.

    Raises gdb.error with one line.
    """
    code = value.type.strip_typedefs().code
    if code in _REFERENCES:
        return address_of(value.referenced_value())
    if value.is_optimized_out:
        raise gdb.error("the value is optimized out here")
    if code in _NUMBERS:
        return int(value) & _MASK
    if value.address is None:
        raise gdb.error(f"a value of type {value.type} is not an address, and it is not in memory")
    return int(value.address) & _MASK
