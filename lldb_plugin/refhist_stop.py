"""How a stop of a rule gets its text in lldb-dap (stop_text.h): a thread plan, for it alone may say why it stopped.

A plan stops a thread only after an instruction. So the plugin has put the thread on one that does nothing, and from
there it goes back to where it was to stop.
"""

import lldb


class Stop:
    def __init__(self, plan, arguments):
        self._plan = plan
        self._text = arguments.GetValueForKey("text").GetStringValue(1 << 16)
        self._place = arguments.GetValueForKey("place").GetUnsignedIntegerValue()
        nop = arguments.GetValueForKey("nop").GetUnsignedIntegerValue()
        self._away = (nop, nop + 1)
        plan.SetStopOthers(True)

    def explains_stop(self, _event):
        return self._is_away() or self._plan.GetThread().GetStopReason() == lldb.eStopReasonTrace

    def should_step(self):
        return True

    def should_stop(self, _event):
        if not self._is_away():
            return False  # a signal's handler, which comes back
        self._frame().SetPC(self._place)
        self._plan.SetPlanComplete(True)
        return True

    def is_stale(self):
        return False

    def stop_description(self, stream):
        stream.Print(self._text)

    def _is_away(self):
        return self._frame().GetPC() in self._away

    def _frame(self):
        return self._plan.GetThread().GetFrameAtIndex(0)
