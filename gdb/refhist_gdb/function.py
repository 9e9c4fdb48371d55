"""$refhist_count(ADDRESS)"""

import gdb

from .errors import fail
from .values import address_of


def register(session):
    Count(session)


class Count(gdb.Function):
    """$refhist_count(ADDRESS): how many references to the object at this address were recorded; -1: unknown.

    It may stand in a condition: break conn_use if $refhist_count(conn) > 3"""

    def __init__(self, session):
        super().__init__("refhist_count")
        self._session = session

    def invoke(self, *values):
        if len(values) != 1:
            fail("refhist_count wants one argument, the address of an object")
        try:
            return self._session.count_of(address_of(values[0]))
        except gdb.error as error:
            fail(str(error))
