"""The first screen: on a terminal of 80 x 24 and of 120 x 40 the answer is seen, and nothing scrolls away."""
import fcntl
import os
import pty
import re
import struct
import termios
import threading

import pytest

from conftest import NO_CHILDREN, Perfkit
from stored import Stored

SCREENS = ((80, 24), (120, 40))
QUIET = [1e6 + 1e3 * i for i in range(9)]
CASES = 60
STEP = 2


def read_all(fd, parts):
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:  # nobody writes to it any more
            return
        if not part:
            return
        parts.append(part)


def printed(one, *args, size=SCREENS[0], env=None):
    """The exit status, and the lines that were written to a terminal of this size, messages too."""
    columns, rows = size
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    parts = []
    reader = threading.Thread(target=read_all, args=(main, parts))
    reader.start()
    p = one.start(*args, env={"TERM": "xterm", **(env or {})}, stdin=side, stdout=side, stderr=side)
    os.close(side)
    status = p.wait(timeout=120)
    reader.join()
    os.close(main)
    text = re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", b"".join(parts).decode())
    lines = [line.rstrip("\r").split("\r")[-1] for line in text.split("\n")]
    return status, lines[:-1] if not lines[-1] else lines


def on_screen(one, *args, size=SCREENS[0], env=None):
    """The exit status, and the lines that the terminal has afterwards, had it endless lines."""
    status, lines = printed(one, *args, size=size, env=env)
    columns = size[0]
    return status, [line[at:at + columns] for line in lines for at in range(0, max(len(line), 1), columns)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs of 60 cases, of which two are slower in the newest ones."""
    one = Perfkit(tmp_path_factory.mktemp("screens"))
    store = Stored(one.db)
    for run in range(30):
        store.run([("plain", {"n": n, "width": 64},
                    {"forward_ns": [v * (1 + n) * (1.5 if n < STEP and run >= 10 else 1) * (1 + run * 7 % 5 / 1e3) for v in QUIET]}) for n in range(CASES)])
    return one


def fits(lines, size):
    assert len(lines) <= size[1] - 1, (len(lines), "\n".join(lines))  # and the prompt


@pytest.mark.parametrize("size", SCREENS)
def test_compare_shows_its_verdicts_and_the_gravest_rows(recorded, size):
    status, lines = on_screen(recorded, "compare", "1,2,3,4,5", "@", size=size)
    text = "\n".join(lines)
    assert status == 0 and "60 rows: 2 slower" in lines[0], text
    fits(lines, size)
    rows = [line for line in lines if re.match("plain ", line)]
    assert 8 <= len(rows) < CASES and all(" slower" in row for row in rows[:STEP]) and "slower" not in rows[STEP], text
    assert re.search(r"^[0-9]+ rows more\.$", text, re.M) and lines[-1].startswith("Everything: perfkit compare 1,2,3,4,5 @ --details"), text


@pytest.mark.parametrize("size", SCREENS)
def test_history_shows_what_changed(recorded, size):
    status, lines = on_screen(recorded, "history", "demo", size=size)
    text = "\n".join(lines)
    assert status == 0 and lines[0] == "2 of 60 cases changed lastingly.", text
    fits(lines, size)
    rows = [line for line in lines if re.match("plain ", line)]
    assert len(rows) >= 4 and "run 11" in text, text
    status, lines = on_screen(recorded, "history", "demo", "--filter", "n=0", size=size)
    fits(lines, size)
    assert sum(bool(re.match(" *[0-9]+  2", line)) for line in lines) >= 8, lines


def test_details_and_a_pipe_have_everything(recorded):
    for format, *args in (("json", "compare", "1", "@"), ("csv", "history", "demo"), ("markdown", "list", "runs")):
        _, lines = on_screen(recorded, *args, "--details", size=(200, 24))
        piped = recorded(*args, "--width", "200").stdout
        assert len(lines) > 24 and set(piped.splitlines()[:10]) <= set(lines), (args, piped)
        short = recorded(*args, "--height", "24").stdout
        assert len(short.splitlines()) <= 23 and len(recorded(*args, "--height", "0").stdout.splitlines()) >= 24
        assert recorded(*args, "--format", format, "--height", "24").stdout == recorded(*args, "--format", format).stdout


@pytest.fixture(scope="module")
def doctor(tmp_path_factory):
    """A home, and what doctor prints of it where it is not on a screen."""
    one = Perfkit(tmp_path_factory.mktemp("doctor"))
    return one, one("doctor").stdout


@pytest.mark.parametrize("size", SCREENS)
def test_doctor_shows_what_is_ready_and_what_fixes_the_rest(doctor, size):
    status, lines = on_screen(doctor[0], "doctor", size=size)
    text = "\n".join(lines)
    assert status == 0 and re.fullmatch("What can be measured here: [0-9]+ ok, [0-9]+ warn, [0-9]+ no", lines[0]), text
    fits(lines, size)
    ready = re.search(r"^Ready: ([a-z0-9, -]|\n)+\.$", text, re.M).group()
    counted = re.search(r"^Counted: .*", text, re.M).group()
    for name in re.findall(r"^([a-z0-9-]+) +(?:ok|warn|no|unavailable|degraded) ", doctor[1], re.M):  # its state may be another by now
        assert re.search(rf"^{name} +(warn|no|unavailable|degraded) |[:, \n]{name}[,.]", text, re.M), (name, text)
    assert "cpu" in ready and "memory" in counted and lines[-1].startswith("Everything: perfkit doctor --details"), text
    assert "What to do" in lines[1] or "What to do" in lines[2], text


@pytest.mark.parametrize("size", SCREENS)
@pytest.mark.parametrize("args", [("help",), ("list",), ("list", "runs"), ("list", "counters"), ("list", "devices"),
                                  ("exec", "-r", "5", "--", "true"), ("exec", "-r", "5", "true", "sh -c true", "sh -c 'exit 0'"),
                                  ("gate", "--a", "true", "--b", "sh -c 'sleep 0.05'", "--max-pairs", "8"),
                                  ("gate", "--a", "true", "--b", "true", "--max-pairs", "8"),
                                  ("gate", "--a", "true", "--b", "false", "--max-pairs", "8"),
                                  ("gate", "--against", "1,2,3,4,5", "@")], ids=" ".join)
def test_a_first_screen_does_not_scroll(perfkit, recorded, args, size):
    status, lines = on_screen(recorded if "--against" in args or args[0] == "list" else perfkit, *args, size=size)
    assert status in (0, 1, 3, 4, 5) and lines
    fits(lines, size)
    if args[0] == "gate":
        assert any(line.startswith("perfkit: gate: ") for line in lines), lines


@pytest.mark.parametrize("size", SCREENS)
@pytest.mark.parametrize("args", [(), ("--model", "llama-3-70b", "--chips", "512"), ("--model", "llama-3-405b")], ids=" ".join)
def test_a_plan_shows_its_meshes_and_the_memory_of_the_best(perfkit, args, size):
    status, lines = on_screen(perfkit, "plan", "parallel", *args, size=size)
    text = "\n".join(lines)
    assert status == 0 and re.match("Nothing fits: " if "llama-3-405b" in args else "Best mesh: ", lines[0]), text
    assert re.search(r"Memory of a chip: weights [0-9.]+ \+ .* = [0-9.]+ GB of 80\.00 GB\.", " ".join(text.split())), text
    fits(lines, size)
    assert any(re.match("(Rank)? *1 ", line) for line in lines) and "Terms" not in text, text
    assert re.sub(r"\s+", " ", text).split("Everything: ")[1].startswith(" ".join(("perfkit plan parallel", *args, "--details"))), text
    for option, last in () if size != SCREENS[0] else (("--details", "Terms of the time of a step"), ("--tables=time_terms", "Terms of the time of a step"), ("--explain", "Every value, from top to bottom")):
        assert last in on_screen(perfkit, "plan", "parallel", *args, option, size=size)[1], option


@pytest.mark.parametrize("columns", [60, 80])
def test_a_message_is_as_wide_as_the_terminal(recorded, columns):
    wide = 0
    for args in (("compare", "1", "nosuch"), ("run", "attention-scaling", "--dtype", "nosuch"), ("gate", "--against", "1", "2", "--fail-on-undecided")):
        status, lines = printed(recorded, *args, size=(columns, 24))
        message = lines[next(at for at, line in enumerate(lines) if line.startswith("perfkit: ") and not line.startswith("perfkit: gate: ")):]
        assert status and max(map(len, message)) <= columns, message
        joined = re.sub(r"\n {7,9}(?! )", " ", "\n".join(message)).splitlines()
        whole = recorded(*args).stderr.splitlines()[-3:]
        if max(map(len, " ".join(whole).split())) <= columns - 9:
            assert joined == whole, message
        else:  # the path of a store is longer than a line, and is cut
            assert "".join(message).replace(" ", "") == "".join(whole).replace(" ", ""), message
        wide += sum(len(line) > columns for line in whole)
    assert wide


def test_a_short_output_is_ascii_where_the_terminal_is(recorded):
    for args in (("compare", "1,2,3,4,5", "@"), ("history", "demo"), ("doctor",), ("list", "counters")):
        _, lines = on_screen(recorded, *args, env=NO_CHILDREN | {"LC_ALL": "C"})
        assert "\n".join(lines).isascii(), lines


def test_a_gate_says_that_its_runs_were_disturbed(perfkit):
    """The same line that the comparison of its two runs has: none where nothing was."""
    r = perfkit("gate", "--a", "true", "--b", "sh -c 'exit 0'", "--max-pairs", "8", "--no-fail")
    noisy, again = ([line for line in text.splitlines() if line.startswith("noisy: ")] for text in (r.stdout, perfkit("compare", "1", "2").stdout))
    assert r.status == 0 and noisy == again and len(noisy) <= 1, (r, again)
