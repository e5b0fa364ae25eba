"""Whether something else took this machine's processors while a test ran. A test of times that fails then is repeated, and skipped with the
reason when it fails each time; on a machine that did nothing else it fails at once.

As a program, for a test that is a command: busy.py COMMAND...
As a plugin of pytest (conftest.py imports it): a test calls `in_time(seconds, limit)`, or is marked `timed`: it acts at moments, after so many
seconds, at which a busy machine is elsewhere, so that any failure may be due to that."""
import os
import resource
import subprocess
import sys
import time

TRIES, SKIPPED = 3, 77
OTHERS, STOLEN = 0.15, 0.02  # of one CPU: what an idle system uses itself, and what a guest does not notice


def processors():
    """Seconds that all CPUs have worked, and those that other guests of the host took."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq, steal = (int(word) / os.sysconf("SC_CLK_TCK") for word in f.readline().split()[1:9])
    return user + nice + system + irq + softirq, steal


def own():
    """Seconds that this process and all that it waited for have worked."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Load:
    """What others do from now on."""

    def __init__(self):
        self.began, self.own, (self.worked, self.stolen) = time.monotonic(), own(), processors()

    def reason(self):
        """"other processes took 1.2 CPUs"; None when the machine did little else."""
        seconds = max(time.monotonic() - self.began, 1e-3)
        worked, stolen = processors()
        others = (worked - self.worked - (own() - self.own)) / seconds
        stolen = (stolen - self.stolen) / seconds
        if others > OTHERS:
            return f"other processes took {others:.1f} CPUs"
        return f"other guests of the host took {stolen:.2f} CPUs" if stolen > STOLEN else None


def command(argv):
    for _ in range(TRIES):
        load = Load()
        status = subprocess.run(argv, check=False).returncode
        reason = load.reason()
        if status in (0, SKIPPED) or not reason:
            return status if status >= 0 else 128 - status
        print(f"busy: {reason} during this try", flush=True)
    print(f"skipped: busy: {reason} (docs/machine-state.md)")
    return SKIPPED


class Late(AssertionError):
    """A time limit of a test that a busy machine can break."""


def in_time(seconds, limit):
    if seconds >= limit and "PERFKIT_SANITIZED" not in os.environ:
        raise Late(f"{seconds:.1f} s, and the limit is {limit:g} s")


def pytest_configure(config):
    config.addinivalue_line("markers", "timed: acts at moments at which a busy machine is elsewhere")


def pytest_runtest_makereport(item, call):
    if call.excinfo and (call.excinfo.errisinstance(Late) or item.get_closest_marker("timed")):
        item.late = True


def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(TRIES)):
        load, item.late = Load(), False
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        reason = load.reason() if item.late else None
        if not reason:
            break
        print(f"busy: {reason} during {item.nodeid}")
        if left:
            item._initrequest()  # fixtures anew
    for report in reports:
        if reason and report.failed:
            path, line, _ = item.location
            report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: busy: {reason}")
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
