"""A client of a debug adapter (DAP) on its standard input and output, as an editor is one, with a watchdog."""

import json
import os
import queue
import subprocess
import threading
import time


class ServerEnded(Exception):
    pass


class DapClient:
    def __init__(self, argv, environment, seconds):
        self._deadline = time.monotonic() + seconds
        self._process = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, start_new_session=True)
        self._messages = queue.Queue()
        self._number = 0
        self.transcript = []
        threading.Thread(target=self._read_all, daemon=True).start()

    # Requests

    def send(self, command, **arguments):
        """Returns the number by which response() finds the answer."""
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        content = json.dumps(message).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        self._process.stdin.flush()
        return self._number

    def response(self, number):
        answer = self._wait(lambda m: m["type"] == "response" and m["request_seq"] == number)
        assert answer["success"], answer
        return answer.get("body", {})

    def request(self, command, **arguments):
        return self.response(self.send(command, **arguments))

    def begin(self, how, function=None, **arguments):
        """Initializes, launches or attaches with these arguments, and says that the configuration is done.

        `function`: gets a breakpoint. Returns that one's number."""
        self.request("initialize", clientID="test", adapterID="test", linesStartAt1=True, columnsStartAt1=True,
                     pathFormat="path")
        started = self.send(how, **arguments)  # answered at once, or when the configuration is done
        self.event("initialized")
        number = self._break_at(function) if function else None
        done = self.send("configurationDone")
        self.response(started)
        self.response(done)
        return number

    def _break_at(self, function):
        answer = self.request("setFunctionBreakpoints", breakpoints=[{"name": function}])
        return answer["breakpoints"][0]["id"]

    # What the server tells

    def event(self, *names):
        """The next event of one of these names, or one that came before while something else was waited for."""
        return self._wait(lambda m: m["type"] == "event" and m["event"] in names)

    def output(self):
        """All that was printed so far, whoever did."""
        return "".join(m["body"].get("output", "") for m in self.transcript
                       if m["type"] == "event" and m["event"] == "output")

    def wait_for_output(self, part):
        while part not in self.output():
            self._read_one()

    def events(self, name):
        return [m for m in self.transcript if m["type"] == "event" and m["event"] == name]

    def _wait(self, wanted):
        position = 0
        while True:
            for message in self.transcript[position:]:
                if not message.get("taken") and wanted(message):
                    message["taken"] = True
                    return message
            position = len(self.transcript)
            self._read_one()

    def _read_one(self):
        message = self._messages.get(timeout=max(0.0, self._deadline - time.monotonic()))
        if message is None:
            raise ServerEnded("the server has ended")
        self.transcript.append(message)

    def _read_all(self):
        try:
            while (length := self._header()) is not None:
                self._messages.put(json.loads(self._process.stdout.read(length)))
        except ValueError:  # Debian's lldb-dap 19 aborts when it ends, in the middle of a message
            pass
        self._messages.put(None)

    def _header(self):
        length = None
        for line in iter(self._process.stdout.readline, b""):
            name, _, value = line.strip().partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            elif not name:
                return length
        return None

    # The end

    def disconnect(self):
        """Ends the program and the session; everything that the server says until then is in the transcript."""
        self.request("disconnect", terminateDebuggee=True)
        self._process.stdin.close()
        try:
            while True:
                self._read_one()
        except ServerEnded:
            self._process.wait()

    def destroy(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, 9)
            self._process.wait()
