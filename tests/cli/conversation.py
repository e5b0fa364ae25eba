"""perfkit's half of the wire for tests of clients: it sends requests to a program and reads its replies (docs/protocol.md)."""
import json
import os
import subprocess

STOP = {"min_samples": 3, "max_samples": 5, "min_time_ns": 0, "max_time_ns": 10**9, "max_noise": 1.0, "warmup": 1, "once": False}


class Conversation:
    """A started program, greeted. With `with`, it is told to quit, and must end with status 0."""

    def __init__(self, *argv, env=None):
        reading, writing = os.pipe()
        self.program = subprocess.Popen([str(word) for word in argv], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        pass_fds=[writing], env={**os.environ, **(env or {}), "PERFKIT_WIRE_FD": str(writing)})
        os.close(writing)
        self.replies = os.fdopen(reading, encoding="utf-8")
        self.hello = json.loads(self.replies.readline() or "{}")
        self.ids = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.program.stdin.close()
        left = self.replies.read()
        status = self.program.wait(timeout=20)
        self.stderr = self.program.stderr.read().decode()
        assert kind or (status, left) == (0, '{"type": "bye"}\n') or (status, left) == (0, '{"type":"bye"}\n'), (status, left, self.stderr)

    def send(self, line):
        self.program.stdin.write(line if isinstance(line, bytes) else (line + "\n").encode())
        self.program.stdin.flush()

    def ask(self, kind, **members):
        """The messages of one reply; the last is its status."""
        self.ids += 1
        self.send(json.dumps({"type": kind, "id": self.ids, **members}, separators=(",", ":")))  # as perfkit writes it
        messages = []
        for line in self.replies:
            messages.append(json.loads(line))
            if messages[-1]["type"] == "status":
                assert messages[-1]["id"] == self.ids
                return messages
        raise AssertionError("it ended: " + self.program.stderr.read().decode())

    def measure(self, experiment, variant, axes={}, **members):
        return self.ask("measure", **{"experiment": experiment, "variant": variant, "device": "cpu", "axes": axes, "pass": "timing", "check": True,
                                      "seed": 1, "stop": STOP, **members})


def of_type(messages, kind):
    return [m for m in messages if m["type"] == kind]


def samples(messages, metric):
    """{phase: (values, reps)} of a metric."""
    return {m.get("phase", "steady"): (m["values"], m.get("reps", 1)) for m in of_type(messages, "samples") if m["metric"] == metric}


def note(messages, key):
    return next(m["value"] for m in of_type(messages, "note") if m["key"] == key)


def outcome(messages):
    return messages[-1]["status"], messages[-1]["message"]
