"""What every command shares: help, did-you-mean, exit statuses, streams, signals, locale, memory refused."""
import os
import pathlib
import re
import socket
import subprocess

import pytest
from conftest import BINARY, not_sanitized
from test_bisect import FAST, SLOW, Repository


def test_version(perfkit):
    r = perfkit("--version")
    assert r.status == 0 and re.fullmatch(r"perfkit \d+\.\d+\.\d+\n", r.stdout)


def test_no_command(perfkit):
    r = perfkit()
    r.refused(2, "no command was given", "perfkit run")
    assert "usage: perfkit COMMAND" in r.stderr and "\n  help " in r.stderr
    assert len(r.stderr.splitlines()) <= 23  # and the prompt: 24
    assert len(perfkit("help").stdout.splitlines()) <= 23


@pytest.mark.parametrize("args", [("help",), ("-h",), ("--help",)])
def test_program_help(perfkit, args):
    r = perfkit(*args)
    assert r.status == 0 and "usage: perfkit COMMAND" in r.stdout and "  list" in r.stdout
    assert "worker" not in r.stdout and r.stderr == ""


def test_short_and_full_help(perfkit):
    short, full, also = perfkit("list", "-h"), perfkit("list", "--help"), perfkit("help", "list")
    assert short.status == full.status == 0 and full.stdout == also.stdout
    assert "examples:" in short.stdout and "--color" not in short.stdout
    assert "--format FORMAT" in full.stdout and "[PERFKIT_FORMAT]" in full.stdout
    assert len(short.stdout.splitlines()) <= 30


@not_sanitized
def test_every_command_explains_itself(perfkit):
    names = re.findall(r"^  (\w+) ", perfkit("help").stdout, re.M) + ["worker", "completion"]
    assert {"run", "list"} <= set(names)
    for name in names:
        short, full = perfkit(name, "-h"), perfkit(name, "--help")
        assert short.status == full.status == 0 and short.stderr == full.stderr == "", full
        assert max(map(len, full.stdout.splitlines())) <= 110, full.stdout
        assert f"usage: perfkit {name}" in short.stdout


def test_commands_of_the_page_work_from_top_to_bottom(perfkit, measured):
    """On the null device, whose samples and pairs are few here; the peer is the CPU's. The README's are in test_readme."""
    few = {"PERFKIT_MIN_SAMPLES": "2", "PERFKIT_MIN_TIME": "1ms", "PERFKIT_MAX_TIME": "2ms", "PERFKIT_MAX_PAIRS": "8",
           "PERFKIT_PAIRS": "4"}

    def environment(command):
        """The smallest cases; runs of which two are compared have the invocations of an interval."""
        own = "./my-join.py" in command
        smoke = re.search("run (batch-scaling|extraction)|(run|gate) attention-scaling", command)
        return {**few, "PERFKIT_DEVICE": None if "doctor" in command or own else "null", "PERFKIT_PRESET": "smoke" if smoke else None,
                "PERFKIT_AXIS": "words=100" if own else None, "PERFKIT_INVOCATIONS": "3" if "attention-scaling" in command else "1"}

    text = (pathlib.Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    lines = [line.strip() for line in text.splitlines() if line.startswith("    perfkit ")]
    commands = [re.split(r"  +", line)[0] for line in lines]
    names = re.findall(r"^  ([a-z-]+)  ", perfkit("help").stdout, re.M) + ["completion"]
    assert len(names) >= 18 and set(names) <= {c.split()[1] for c in commands}
    for build in (perfkit.cwd / "build", perfkit.root / "main" / "build"):  # the two that gate is to tell apart
        build.parent.mkdir(exist_ok=True)
        build.symlink_to(pathlib.Path(BINARY).parent)
    (perfkit.cwd / "docs").symlink_to(pathlib.Path(__file__).parents[2] / "docs")
    (perfkit.cwd / "before.json").write_text('{"results": [{"command": "sleep 0.1", "times": [0.101, 0.102, 0.1], "exit_codes": [0, 0, 0]}]}')
    makefile = "solve: solve.in\n\tcp solve.in solve\n\tchmod +x solve\n"
    repository = Repository(perfkit, FAST, SLOW, more={"644 inline Makefile": makefile})  # whose commits bisect searches
    repository.git("tag", "v1.2", "c1")
    for command in commands:
        if "--peer" in command:
            continue
        p = subprocess.run(["bash", "-c", command.replace("perfkit", BINARY, 1)], cwd=perfkit.cwd, capture_output=True, text=True,
                           env=perfkit.environment(environment(command)), timeout=60)
        assert p.returncode == 0, (command, p.stderr)


def test_help_of_an_experiment(perfkit):
    r = perfkit("help", "run", "attention-scaling")
    assert r.status == 0 and "seq_len" in r.stdout and "flash" in r.stdout
    perfkit("help", "run", "atention-scaling").refused(2, "did you mean 'attention-scaling'?")
    perfkit("help", "list", "x").refused(2, "too many arguments")
    perfkit("help", "ddp-bucket", "x").refused(2, "help ddp-bucket: too many arguments")
    perfkit("help", "atention-scaling").refused(2, "did you mean 'attention-scaling'?")


@pytest.mark.parametrize("args", [("help", "ddp-bucket"), ("help", "run", "tree-patch"), ("list", "experiments", "tree-patch"),
                                  ("plan", "bucket", "--ranks", "8"), ("help", "--width", "80", "ddp-bucket")])
def test_width_of_what_explains(perfkit, args):
    r = perfkit(*args, env={"PERFKIT_WIDTH": None if "--width" in args else "80"})
    assert r.status == 0 and 70 < max(map(len, r.stdout.splitlines())) <= 80 and '["' not in r.stdout, r


@not_sanitized
def test_each_page_of_the_documentation_is_a_topic(perfkit):
    pages = {p.stem: p for p in (pathlib.Path(__file__).parents[2] / "docs").glob("*.md")}
    rows = perfkit("help", "topics", "--format", "json").rows("topics")
    assert {row["topic"] for row in rows} == pages.keys() and all(row["about"] for row in rows)
    assert max(map(len, perfkit("help", "topics", "--width", "80").stdout.splitlines())) <= 80
    for topic, page in pages.items():
        assert perfkit("help", "topics", topic).stdout == page.read_text()
    assert perfkit("help", "statistics").stdout == pages["statistics"].read_text()
    assert perfkit("help", "gate").stdout.startswith("perfkit gate - ")  # a command has the name
    perfkit("help", "statistic").refused(2, "statistics")
    perfkit("help", "topics", "statistic").refused(2, "no topic 'statistic'", "did you mean 'statistics'?")
    assert "help topics" in perfkit("help").stdout


def test_help_of_help(perfkit):
    usage = " ".join(perfkit("help", "help").stdout.split())
    assert "usage: perfkit help [COMMAND] | help EXPERIMENT | help run EXPERIMENT | help topics [TOPIC]" in usage
    perfkit.config("nonsense\n")
    assert perfkit("help", "list").status == 0


def test_a_message_is_one_piece(perfkit):
    """The ranks of a run share a terminal: what they say must not mix within a message."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        process = perfkit.start("frobnicate", "--now", stderr=theirs)
        assert process.wait(timeout=60) == 2
        theirs.close()
        said = ours.recv(65536).decode()
        assert said.startswith("perfkit: ") and "\n  try: " in said and said.endswith("\n"), said
        assert not ours.recv(65536)


def test_progress_commands_no_terminal(perfkit):
    program = perfkit.cwd / "e\x1b]0;title\x07\u202ex\n\u00a0::error::y"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = perfkit("exec", "-r", "1", "--no-counters", "--progress", "plain", "--", f"./{program.name}")
    assert done.status == 0 and "[1/1]" in done.stderr, done
    assert not any(c in done.stderr for c in "\x1b\x07\u202e") and "\n\u00a0::" not in done.stderr, done


def test_unknown_command(perfkit):
    perfkit("lits").refused(2, "there is no command 'lits'", "did you mean 'list'?")
    perfkit("ddp-bucket").refused(2, "there is no command 'ddp-bucket'", "did you mean 'run ddp-bucket'?")
    perfkit("zzzzzzzz").refused(2, "perfkit help lists them")
    perfkit("help", "lits").refused(2, "did you mean 'list'?")


def test_option_before_command(perfkit):
    perfkit("--format", "json", "list").refused(2, "--format", "options come after their command")


def test_unknown_option(perfkit):
    perfkit("list", "--fromat=json").refused(2, "there is no option --fromat", "did you mean --format?")
    perfkit("list", "--form=json").refused(2, "--form")  # no abbreviations
    perfkit("list", "-Z").refused(2, "-Z")


def test_too_many_arguments(perfkit):
    perfkit("list", "experiments", "a", "b", "c").refused(2, "too many arguments", "usage: perfkit list")


def test_output_file_appears_whole(perfkit):
    target = perfkit.cwd / "out.json"
    target.write_text("old")
    assert perfkit("list", "devices", "--format", "json", "-o", target).stdout == ""
    assert '"devices"' in target.read_text()
    target.write_text("old")
    perfkit("list", "nonsense", "-o", target).refused(2)
    assert target.read_text() == "old"
    assert os.listdir(perfkit.cwd) == ["out.json"]


def test_output_through_a_link_keeps_the_link(perfkit):
    (perfkit.cwd / "real").write_text("old")
    (perfkit.cwd / "link").symlink_to("real")
    assert perfkit("list", "devices", "-o", "link").status == 0
    assert (perfkit.cwd / "link").is_symlink() and "cpu" in (perfkit.cwd / "real").read_text()


@pytest.mark.parametrize("path, words", [("nowhere/out", "create its directory"), (".", "not a directory"),
                                         ("/dev/full", "No space left")])
def test_output_that_cannot_be_written(perfkit, path, words):
    perfkit("list", "devices", "-o", path).refused(1, path if path != "/dev/full" else "output", words)


def test_full_standard_output(perfkit):
    for args in (("list", "devices"), ("help",), ("--version",), ("list", "devices", "--format=json")):
        with open("/dev/full", "wb") as full:
            perfkit(*args, stdout=full).refused(1, "No space left on device", "-o FILE")
    with open("/dev/full", "wb") as full:  # more than is buffered
        perfkit("run", "--help", stdout=full).refused(1, "No space left on device", "standard output")


def test_reader_that_left(perfkit):
    """| head: nothing is said and the status is the command's."""
    for args in (("list", "devices"), ("help",), ("list", "devices", "--format=csv")):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            r = perfkit(*args, stdout=pipe)
        assert (r.status, r.stderr) == (0, ""), r


def test_closed_standard_output(perfkit):
    p = subprocess.run(["sh", "-c", '"$0" list devices >&-', BINARY], env=perfkit.environment(), cwd=perfkit.cwd,
                       capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and "Bad file descriptor" in p.stderr


def test_no_home(perfkit):
    r = perfkit("list", "devices", env={"HOME": None, "XDG_CONFIG_HOME": None, "XDG_DATA_HOME": None, "PERFKIT_DB": None})
    assert r.status == 0 and "cpu" in r.stdout


@pytest.mark.parametrize("locale", ["fr_FR.UTF-8", "C", "nonsense", "tr_TR.UTF-8"])
def test_locales_change_nothing(perfkit, locale):
    assert perfkit("list", "devices", "--format", "csv", env={"LC_ALL": locale}).stdout == perfkit("list", "devices", "--format", "csv").stdout


@pytest.mark.parametrize("width", [1, 2, 7, 20, 10000])
def test_any_width(perfkit, width):
    r = perfkit("list", "devices", f"--width={width}")
    assert r.status == 0 and r.stderr == ""


@pytest.mark.parametrize("env, args, colored", [
    ({}, (), False),
    ({"FORCE_COLOR": "1"}, (), True),
    ({"FORCE_COLOR": "0"}, (), False),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
    ({"FORCE_COLOR": "1", "NO_COLOR": ""}, (), True),
    ({"NO_COLOR": "1"}, ("--color=always",), True),
    ({"FORCE_COLOR": "1"}, ("--color=never",), False),
])
def test_color(perfkit, env, args, colored):
    r = perfkit("list", "devices", *args, env=env)
    assert r.status == 0 and ("\x1b[" in r.stdout) == colored


def test_color_and_width_on_a_terminal(perfkit):
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios
    for term, colored in (("xterm", True), ("dumb", False)):
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        r = perfkit("list", "devices", env={"TERM": term}, stdout=side)
        os.close(side)
        text = os.read(main, 65536).decode()
        os.close(main)
        assert r.status == 0 and ("\x1b[" in text) == colored
        assert max(len(re.sub(r"\x1b\[\d*m", "", line)) for line in text.splitlines()) <= 40


@not_sanitized
def test_memory_refused_at_every_allocation(perfkit):
    """Fails the n-th allocation: a message in three parts and status 1, until nothing fails any more."""
    for n in range(1, 500, 7):
        r = perfkit("list", "devices", "-o", "out", env={"PERFKIT_FAIL_ALLOC": str(n)})
        if r.status == 0:
            break
        r.refused(1, "out of memory")
        assert os.listdir(perfkit.cwd) == []
    assert r.status == 0 and n > 1
