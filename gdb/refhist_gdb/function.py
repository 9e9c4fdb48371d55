"""$refhist_count(ADDRESS), and the condition of our catchpoint."""

import gdb

from . import exit_catch
from .errors import fail
from .values import address_of


def register(session):
    Count(session)
    RawExit(session)


class RawExit(gdb.Function):
    """The condition of the catchpoint that break-on-leak --raw-exit makes: whether something is leaked."""

    def __init__(self, session):
        super().__init__(exit_catch.CONDITION)
        self._session = session

    def invoke(self):
        return self._session.raw_exit()


class Count(gdb.Function):
    """$refhist_count(ADDRESS): the recorded reference count of the object at this address; -1: unknown.

    Usable in a condition: break conn_use if $refhist_count(conn) > 3"""

    def __init__(self, session):
        super().__init__("refhist_count")
        self._session = session

    def invoke(self, *values):
        return count(self._session, *values)


def count(session, *values):
    if len(values) != 1:
        fail("refhist_count takes one argument, the address of an object")
    try:
        return session.count_of(address_of(values[0]))
    except gdb.error as error:
        fail(str(error))
