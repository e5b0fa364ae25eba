"""Nothing that perfkit started lives on: programs, their children, sessions of their own, daemons; whatever ends perfkit, at any place."""
import ctypes
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import uuid

import pytest
from busy import Late
from conftest import BINARY, Perfkit, not_sanitized
from processes import gone, marked, of_process

# A child, one in a session of its own, a daemon, and the program itself. They are told by their name.
FAMILY = """#!/bin/sh
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c 'sleep 1000 &' &)
"""
STAY = FAMILY + "sleep 1000\n"
STUBBORN = FAMILY + "trap '' TERM INT\nsleep 1000\nsleep 1000\n"
HEED = "#!/bin/sh\ntrap 'sleep 0.1; touch removed; exit' TERM\ntouch here\nwhile :; do sleep 0.02; done\n"
FLEE = "#!/bin/sh\nflee() { [ $1 -gt 20000 ] || flee $(($1 + 1)) & }\nflee 0; flee 0; sleep 0.2\n"  # each of it starts the next and ends
SIGNALS = (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGINT)
SOON = 2  # seconds
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # Open MPI 5
MPI = (pathlib.Path(BINARY).parent / "perfkit-mpi.so").exists() and shutil.which("mpiexec") and "PERFKIT_SANITIZED" not in os.environ
real = pytest.mark.skipif(not MPI, reason="no MPI, or one whose leaks are not ours to examine")


def script(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return f"./{name}"


def name_of(pid):
    return of_process(pid, "comm").decode().strip()


def sleeps(token):
    return [pid for pid in marked(token) if name_of(pid) == "sleep"]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def command(one):
    return ("exec", "--", script(one.cwd, "stay", STAY)), 4


def prepare(one):
    return ("exec", "--prepare", script(one.cwd, "stay", STAY), "--", "true"), 4


def peer(one):
    return ("run", "selftest", "--device", "null", "--variant", "ok", "-i", "1", "--peer", script(one.cwd, "stay", STAY)), 4


def gate(one):
    """The daemons of the side that ran first are there while the other side runs."""
    script(one.cwd, "side", FAMILY + "mkdir first && exit 0\nsleep 1000\n")
    return ("gate", "--a", "./side", "--b", "./side a"), 3 + 4


def bisect(one, build=STAY):
    script(one.cwd, "build", build)
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@y")
    for args in (("init", "-q", "."), ("add", "-A"), ("commit", "-qm", "1"), ("commit", "-qm", "2", "--allow-empty")):
        subprocess.run([*git, *args], cwd=one.cwd, check=True, env={"PATH": os.environ["PATH"], "HOME": str(one.home)})
    return ("bisect", "HEAD~1..HEAD", "--side", "true", "--", "./build"), 4


PLACES = (command, prepare, peer, gate, bisect)


def ended(p, signum, seconds=30):
    """Ends it and checks how: by the signal, or in order."""
    p.send_signal(signum)
    _, err = p.communicate(timeout=seconds)
    assert p.returncode == (-signum if signum == signal.SIGKILL else 130), err.decode()


@pytest.mark.parametrize("place", PLACES)
def test_signals(tmp_path, place):
    running = []
    for signum in SIGNALS:
        (tmp_path / signum.name).mkdir()
        one, token = Perfkit(tmp_path / signum.name), uuid.uuid4().hex
        args, n = place(one)
        running.append((one.start(*args, env={"TOKEN": token}), token, n, signum))
    for p, token, n, signum in running:
        until(lambda t=token, least=n: len(sleeps(t)) >= least)
        ended(p, signum)
        assert gone(token, SOON), [name_of(pid) for pid in marked(token)]


@pytest.mark.parametrize("signum", SIGNALS)
def test_workers(perfkit, signum):
    token = uuid.uuid4().hex
    p = perfkit.start("run", "selftest", "--device", "null", "--variant", "ok", "-a", "busy_ns=1000000", "--min-time", "60s", "--max-time", "60s",
                      "--no-check", env={"TOKEN": token})
    until(lambda: any(b"worker" in of_process(pid, "cmdline") for pid in marked(token)))
    ended(p, signum)
    assert gone(token, SOON)


def ranks(token):
    return [pid for pid in marked(token) if b"OMPI_COMM_WORLD_RANK=" in of_process(pid, "environ")]


@real
@pytest.mark.parametrize("signum", SIGNALS[:3])
def test_ranks(perfkit, measured, signum):
    token = uuid.uuid4().hex
    (perfkit.cwd / "two").write_text("a 30000\nb 70000\n")
    p = perfkit.start("run", "ddp-bucket", "-d", "cpu", "--tensors", "two", "-v", "none", "-i", "1", "--min-time", "60s", "--max-time", "60s",
                      "--ranks", "2", "--compute-ms", "20", "--no-check", env={"TOKEN": token})
    until(lambda: len(ranks(token)) >= 2)
    ended(p, signum)
    assert gone(token, SOON)


@real
def test_a_killed_rank_of_a_launcher(perfkit):
    token = uuid.uuid4().hex
    stay = script(perfkit.cwd, "stay", STAY)
    p = subprocess.Popen([shutil.which("mpirun"), "-n", "1", BINARY, "exec", "--", stay], cwd=perfkit.cwd, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, env=perfkit.environment({"TOKEN": token, **AS_ROOT}))
    until(lambda: len(sleeps(token)) == 4)
    own = [pid for pid in marked(token) if of_process(pid, "status").find(b"PPid:\t%d\n" % p.pid) >= 0]
    assert len(own) == 1
    os.kill(own[0], signal.SIGKILL)
    p.wait(timeout=30)
    assert gone(token, SOON)


@pytest.mark.parametrize("args, name, signum", [(("exec", "--", "true"), "git", signal.SIGKILL), (("doctor",), "python3", signal.SIGTERM)])
def test_a_helper_program(perfkit, args, name, signum):
    """It hangs and has daemons. doctor waits for Python for 20 s, unless a signal comes."""
    token = uuid.uuid4().hex
    (perfkit.cwd / "bin").mkdir()
    script(perfkit.cwd / "bin", name, STAY)
    p = perfkit.start(*args, env={"TOKEN": token, "PATH": f"{perfkit.cwd}/bin:{os.environ['PATH']}"})
    until(lambda: len(sleeps(token)) == 4)
    ended(p, signum, seconds=15)
    assert gone(token, SOON)


def test_a_second_signal(perfkit):
    """It ends perfkit at once, and what does not heed the first one too."""
    token = uuid.uuid4().hex
    p = perfkit.start("exec", "--", script(perfkit.cwd, "stubborn", STUBBORN), env={"TOKEN": token})
    until(lambda: len(sleeps(token)) == 4)
    p.send_signal(signal.SIGINT)
    ended(p, signal.SIGTERM)
    assert gone(token, SOON)


BORN_STOPPED = """#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int setpgid(pid_t pid, pid_t group)
{
    raise(SIGSTOP);
    return (int)syscall(SYS_setpgid, pid, group);
}
"""


@pytest.mark.skipif("PERFKIT_SANITIZED" in os.environ or not shutil.which("cc"), reason="the library would come before the sanitizers'; or no cc")
def test_a_keeper_that_is_stopped_at_birth(perfkit):
    """Before it could start the program: perfkit waits 5 s for it, twice."""
    (perfkit.cwd / "stop.c").write_text(BORN_STOPPED)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "stop.so", "stop.c"], cwd=perfkit.cwd, check=True, timeout=60)
    p = perfkit.start("exec", "--no-save", "-r", "1", "--", "true", env={"LD_PRELOAD": str(perfkit.cwd / "stop.so")})
    assert p.wait(timeout=30) == 1


@pytest.mark.parametrize("signum", (None, *SIGNALS[1:]))
@pytest.mark.parametrize("args", (("--", "./heed"), ("--prepare", "exec ./heed", "--", "touch", "started")))
def test_a_command_that_heeds(perfkit, args, signum):
    """It has half a second for its own end, after a signal and after a timeout; nothing more is started."""
    script(perfkit.cwd, "heed", HEED)
    p = perfkit.start("exec", "--no-save", "--timeout", "60s" if signum else "1s", *args)
    until(lambda: (perfkit.cwd / "here").exists())
    if signum:
        ended(p, signum)
    else:
        assert p.wait(timeout=30) == 6
    assert not (perfkit.cwd / "started").exists()
    if not (perfkit.cwd / "removed").exists():
        raise Late("the command did not reach its end in half a second")


def test_a_build_that_does_not_heed(perfkit):
    token = uuid.uuid4().hex
    args, _ = bisect(perfkit, STUBBORN)
    p = perfkit.start(*args, env={"TOKEN": token})
    until(lambda: len(sleeps(token)) == 4)
    ended(p, signal.SIGINT)
    assert gone(token, SOON)


def test_no_signal(perfkit):
    """All is gone when perfkit has ended: after a command that left daemons, or what never stands still, after a timeout, and after a peer."""
    leave, stubborn, flee = (script(perfkit.cwd, *x) for x in (("leave", FAMILY), ("stubborn", STUBBORN), ("flee", FLEE)))
    selftest = ("run", "selftest", "--device", "null", "--variant", "ok", "-i", "1", "--peer")
    for args, status in ((("exec", "-r", "2", "--", leave), 0), (("exec", "-r", "2", "--prepare", leave, "--", "true"), 0),
                         (("exec", "-r", "1", "--", flee), 0),
                         (("exec", "--timeout", "1s", "--", stubborn), 6), ((*selftest, leave), 1),
                         ((*selftest, stubborn, "--timeout", "1s", "--peer-startup", "0s"), 0)):
        token = uuid.uuid4().hex
        r = perfkit(*args, env={"TOKEN": token})
        assert r.status == status and not marked(token), r


def test_a_signal_that_was_ignored(perfkit):
    """As nohup does: perfkit goes on, and its command ignores it too."""
    p = perfkit.start("exec", "-r", "1", "--", "sh", "-c", "touch here; while [ ! -e go ]; do sleep 0.02; done; kill -HUP $$",
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until(lambda: (perfkit.cwd / "here").exists())
    p.send_signal(signal.SIGHUP)
    (perfkit.cwd / "go").touch()
    _, err = p.communicate(timeout=30)
    assert p.returncode == 0, err.decode()


def old_kernel():
    """For preexec_fn: pidfd_open, clone3 and close_range are unknown to the kernel."""
    absent, error, allowed = (434, 435, 436), 0x50000 | 38, 0x7fff0000  # numbers of every architecture; ENOSYS
    program = [(0x20, 0, 0, 0)] + [(0x15, len(absent) - i, 0, number) for i, number in enumerate(absent)] + [(6, 0, 0, allowed), (6, 0, 0, error)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    prctl = ctypes.CDLL(None).prctl
    prctl(38, 1, 0, 0, 0)  # no new privileges
    if prctl(22, 2, struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))):
        os._exit(99)


def test_an_old_kernel(perfkit):
    token = uuid.uuid4().hex
    r = perfkit("exec", "-r", "2", "--", script(perfkit.cwd, "leave", FAMILY), env={"TOKEN": token}, preexec_fn=old_kernel)
    if r.status == 99:
        pytest.skip("no system call filters here")
    assert r.status == 0 and not marked(token), r


@not_sanitized
def test_valgrind(perfkit):
    """It knows no pidfd_open, and cannot execute /proc/self/exe."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    done = subprocess.run(["valgrind", "-q", "--tool=none", BINARY, "exec", "-r", "1", "--no-counters", "--", "true"], cwd=perfkit.cwd,
                          env=perfkit.environment(), capture_output=True, timeout=120)
    assert done.returncode == 0, done
