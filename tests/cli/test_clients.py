"""The clients: what a program in Python and in C replies to perfkit's requests, and what it prints by hand. docs/clients.md."""
import ast
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from conftest import BINARY
from conversation import STOP, Conversation, note, of_type, outcome, samples
from stored import query

SOURCES = pathlib.Path(__file__).parents[2]
CLIENT, EXAMPLES = SOURCES / "lib" / "client", SOURCES / "docs" / "examples"
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror", f"-I{CLIENT}"]
PYTHON = {"PYTHONPATH": str(CLIENT), "PYTHONDONTWRITEBYTECODE": "1"}

# The same experiment in both languages: it counts to n, and misbehaves as the axis `mode` says.
IN_PYTHON = '''
import perfkit

@perfkit.experiment("counting", axes={"n": [1000, 100], "mode": ["well", "wrong", "oom", "raise", "skip", "reset"], "scale": [0.5], "warm": [False],
                                      "zero": {"type": "size", "default": [0], "unit": "bytes"}},
                    yardstick="up_to", summary="how long \\"counting\\" takes", metrics=[{"name": "steps", "unit": "1", "direction": "none"}])
class Counting:
    def setup(self, case):
        self.n, self.mode, self.resets = case.n, case.mode, 0
        if case.mode == "oom":
            self.array = bytearray(1 << 50)
        if case.mode == "raise":
            raise ValueError("no such thing")
        if case.mode == "reset":
            self.reset = self.count
    def count(self):
        self.resets += 1
    def skip(self, case):
        return "does not apply" if case.mode == "skip" else None
    @perfkit.variant("to n")
    def up_to(self):
        total = 0
        for i in range(self.n):
            total += i
        return total + (self.mode == "wrong")
    def flops(self, case):
        return case.n
    def reference(self, case):
        return case.n * (case.n - 1) // 2
    def metrics(self, case):
        return {"steps": self.resets}

perfkit.main()
'''

IN_C = r'''
#include "perfkit.h"

static int64_t n, total, resets;
static int wrong;

static void count(perfkit_case *c)
{
    (void)c;
    resets++;
}

static void setup(perfkit_case *c)
{
    n = perfkit_int(c, "n");
    wrong = perfkit_is(c, "mode", "wrong");
    resets = 0;
    if (perfkit_is(c, "mode", "oom") && !perfkit_alloc(c, (size_t)1 << 50))
        return;
    if (perfkit_is(c, "mode", "raise"))
        perfkit_fail(c, "no such thing: %s %g %d", "setup", perfkit_float(c, "scale"), perfkit_bool(c, "warm"));
}

static void up_to(perfkit_case *c)
{
    int64_t sum = 0;
    (void)c;
    for (int64_t i = 0; i < n; i++) {
        sum += i;
        perfkit_keep(&sum);
    }
    total = sum + wrong;
}

static void check(perfkit_case *c)
{
    c->e->tolerance > 0 ? perfkit_near(c, "the total", (double)total, (double)(n * (n - 1) / 2)) : (void)0;
}

static void work(perfkit_case *c)
{
    c->flops = (double)perfkit_int(c, "n");
    if (perfkit_is(c, "mode", "skip"))
        perfkit_skip(c, "does not apply");
}

static void teardown(perfkit_case *c)
{
    perfkit_report(c, "steps", (double)resets);
}

int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("counting", "how long \"counting\" takes");
    perfkit_axis(e, "n", PERFKIT_INT, "1000,100", "");
    perfkit_axis(e, "mode", PERFKIT_CHOICE, "well,wrong,oom,raise,skip,reset", "");
    perfkit_axis(e, "scale", PERFKIT_FLOAT, "0.5", "");
    perfkit_axis(e, "warm", PERFKIT_BOOL, "off", "");
    perfkit_axis(e, "zero", PERFKIT_SIZE, "0", "bytes");
    perfkit_metric(e, "steps", "1", "none");
    perfkit_variant(e, "up-to", up_to, "to n");
    e->tolerance = 1e-9;
    e->setup = setup;
    e->check = check;
    e->work = work;
    e->reset = getenv("WITH_RESET") ? count : NULL;
    e->teardown = teardown;
    e->yardstick = "up-to";
    return perfkit_main(e, argc, argv);
}
'''


def compiled(compiler, source, out, *flags):
    done = subprocess.run([compiler, *flags, str(source), "-o", str(out)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """Flags of a sanitizer that works here, or none."""
    tmp = tmp_path_factory.mktemp("sanitized")
    probe = tmp / "probe.c"
    probe.write_text("int main(void) { return 0; }")
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    done = subprocess.run(["cc", *flags, probe, "-o", tmp / "probe"], capture_output=True, timeout=60, check=False)
    return flags if done.returncode == 0 and subprocess.run([tmp / "probe"], timeout=60, check=False).returncode == 0 else []


@pytest.fixture(scope="module")
def programs(tmp_path_factory, sanitized):
    """{language: argv}. The C program runs under AddressSanitizer where there is one."""
    tmp = tmp_path_factory.mktemp("programs")
    (tmp / "bench.py").write_text(IN_PYTHON)
    (tmp / "bench.c").write_text(IN_C)
    (tmp / "bench.cpp").write_text(IN_C)
    found = {"python": [sys.executable, str(tmp / "bench.py")],
             "c": [str(compiled("cc", tmp / "bench.c", tmp / "bench", "-std=c99", "-g", *STRICT, *sanitized))]}
    if shutil.which("c++"):
        found["c++"] = [str(compiled("c++", tmp / "bench.cpp", tmp / "benchpp", "-std=c++11", "-O2", *STRICT))]
    return found


@pytest.fixture(params=["python", "c", "c++"])
def argv(request, programs):
    if request.param not in programs:
        pytest.skip("there is no C++ compiler here")
    return programs[request.param]


def talk(argv, **env):
    return Conversation(*argv, env={**PYTHON, **env})


def test_it_describes_itself(argv):
    with talk(argv) as c:
        assert c.hello.pop("pid") == c.program.pid
        assert c.hello == {"type": "hello", "version": 1, "program": "counting", "describes": True}
        answer, status = c.ask("describe")
        assert (status["status"], answer.pop("type")) == ("ok", "experiment")
        for axis in answer["axes"]:
            axis.pop("unit", None)
        assert answer == {
            "name": "counting", "summary": 'how long "counting" takes', "yardstick": "up-to", "devices": ["cpu"], "plan": True,
            "axes": [{"name": "n", "type": "int", "default": [1000, 100]},
                     {"name": "mode", "type": "choice", "default": ["well", "wrong", "oom", "raise", "skip", "reset"],
                      "choices": ["well", "wrong", "oom", "raise", "skip", "reset"]},
                     {"name": "scale", "type": "float", "default": [0.5]}, {"name": "warm", "type": "bool", "default": [False]},
                     {"name": "zero", "type": "size", "default": [0], "min": 0}],
            "variants": [{"name": "up-to", "summary": "to n"}],
            "metrics": [{"name": "time_ns", "summary": "one call of the variant"}, {"name": "steps", "unit": "1", "direction": "none"}]}


def test_it_plans(argv):
    case = {"experiment": "counting", "variant": "up-to", "device": "cpu"}
    with talk(argv) as c:
        work, status = c.ask("plan", **case, axes={"n": 77, "mode": "well"})
        assert work == {"type": "work", "metric": "time_ns", "flops": 77} and status["status"] == "ok"
        assert outcome(c.ask("plan", **case, axes={"n": 77, "mode": "skip"})) == ("skipped", "does not apply")
        assert outcome(c.ask("plan", **case, axes={"m": 77}))[0] == "failed"


@pytest.mark.timed  # a sample is long or one call when its process was made to wait
def test_it_measures_until_the_rule_holds(argv):
    with talk(argv) as c:
        m = c.measure("counting", "up-to", {"n": 100}, stop={**STOP, "min_time_ns": 10**11, "max_time_ns": 10**12, "warmup": 2})
        assert outcome(m) == ("ok", "")
        times = samples(m, "time_ns")
        assert {phase: len(values) for phase, (values, _) in times.items()} == {"first": 1, "warmup": 2, "steady": 5}
        reps = times["steady"][1]
        assert times["first"][1] == 1 and times["warmup"][1] == reps > 1
        assert (note(m, "stop"), note(m, "warmup_cut"), note(m, "check")) == ("max-samples", 2, "passed")
        assert min(times["steady"][0]) > 10_000  # 20 us, before the clock of the machine changed
        assert [x["ordinal"] for x in of_type(m, "samples") if x["metric"] == "time_ns"] == [0, 1, 3]
        assert samples(m, "steps") == {"steady": ([0], 1)}
        unsteady = c.measure("counting", "up-to", stop={**STOP, "max_noise": 0, "max_time_ns": 10**12})
        values = samples(unsteady, "time_ns")["steady"][0]  # equal ones are as steady as the rule wants
        assert note(unsteady, "stop") == ("noise" if len(set(values)) == 1 else "max-samples") and (3 if len(set(values)) == 1 else 5) <= len(values) <= 5
        long = samples(c.measure("counting", "up-to", {"n": 300_000}), "time_ns")
        assert long["steady"][1] == 1
        noise = c.measure("counting", "up-to", stop={**STOP, "max_samples": 10**6, "min_samples": 10, "max_noise": 0.9, "max_time_ns": 10**10})
        assert note(noise, "stop") == "noise" and 10 <= len(samples(noise, "time_ns")["steady"][0])
        limit = c.measure("counting", "up-to", stop={**STOP, "max_samples": 10**6, "min_time_ns": 10**12, "max_time_ns": 10**7, "warmup": -1})
        assert note(limit, "stop") == "max-time" and note(limit, "warmup_cut") > 2
        once = c.measure("counting", "up-to", stop={**STOP, "once": True}, check=False)
        assert note(once, "stop") == "once" and list(samples(once, "time_ns")) == ["first"] and note(once, "check") == "not in this invocation"


def test_a_reset_makes_a_sample_one_call(argv):
    python = argv[0] == sys.executable
    with talk(argv, **({} if python else {"WITH_RESET": "1"})) as c:
        m = c.measure("counting", "up-to", {"mode": "reset" if python else "well", "n": 10})
        assert all(reps == 1 for _, reps in samples(m, "time_ns").values())
        n = sum(len(values) for values, _ in samples(m, "time_ns").values())
        assert samples(m, "steps")["steady"][0][0] in (n, n + 1)  # and once for the memory


def test_what_goes_wrong_is_an_outcome_of_its_case(argv):
    with talk(argv) as c:
        status, message = outcome(c.measure("counting", "up-to", {"mode": "wrong"}))
        assert status == "failed" and "the reference" in message and not of_type(c.measure("counting", "up-to", {"mode": "wrong"}), "samples")
        assert outcome(c.measure("counting", "up-to", {"mode": "wrong"}, check=False))[0] == "ok"
        status, message = outcome(c.measure("counting", "up-to", {"mode": "raise"}))
        assert status == "failed" and "no such thing" in message
        if argv[0] == sys.executable:
            assert re.search(r"ValueError: no such thing \(bench\.py:\d+, in setup\)", message)
        status, message = outcome(c.measure("counting", "up-to", {"mode": "oom"}))
        assert status == "oom" and message
        if argv[0] != sys.executable:
            assert outcome(c.measure("counting", "up-to", {"mode": "oom"}, device_options={"limit_bytes": 7})) == (
                "oom", "cannot allocate 1125899906842624 bytes: 0 bytes are allocated, and the limit is 7")
        assert outcome(c.measure("counting", "up-to", {"mode": "skip"}))[0] == ("skipped" if argv[0] == sys.executable else "ok")
        assert outcome(c.measure("counting", "up-to"))[0] == "ok"


READS_IN_PYTHON = '''
import perfkit, subprocess, sys
@perfkit.experiment("reading", axes={"text": [False, True]})
class Reading:
    def setup(self, case):
        if case.text:
            raise ValueError("\\ud800 b\\u00e4d")
    @perfkit.variant("stdin is empty")
    def read(self):
        assert subprocess.run(["cat"], stdout=subprocess.PIPE).stdout == b"" and sys.stdin.readline() == ""
perfkit.main()
'''
READS_IN_C = r'''
#include "perfkit.h"
static void read_all(perfkit_case *c)
{
    if (system("test -z \"$(cat)\"") || getchar() != EOF)
        perfkit_fail(c, "there is something on stdin");
    perfkit_report(c, "pages", 1);
}
static void work(perfkit_case *c)
{
    c->flops = perfkit_bool(c, "text") ? -5 : 0;
    c->bytes = perfkit_bool(c, "text") ? 1 / c->bytes : 0;
}
int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("reading", "");
    perfkit_axis(e, "text", PERFKIT_BOOL, "off,on", "\"yes\"\n");
    perfkit_metric(e, "pages", "\\pages\"", "none");
    perfkit_variant(e, "read", read_all, "stdin is empty");
    e->work = work;
    return perfkit_main(e, argc, argv);
}
'''


@pytest.mark.parametrize("language", ["python", "c"])
def test_what_it_measures_reads_no_requests(tmp_path, language):
    """In Python also: under a hard limit of its memory, and with a text that UTF-8 does not have."""
    (tmp_path / "reading.py").write_text(READS_IN_PYTHON)
    (tmp_path / "reading.c").write_text(READS_IN_C)
    argv = ["sh", "-c", 'ulimit -v 3000000; exec "$@"', "sh", sys.executable, tmp_path / "reading.py"] if language == "python" else [
        compiled("cc", tmp_path / "reading.c", tmp_path / "reading", f"-I{CLIENT}")]
    with talk(argv) as c:
        for _ in range(2):
            assert outcome(c.measure("reading", "read")) == ("ok", "")
        if language == "c":  # units of any text
            described = c.ask("describe")[0]
            assert (described["axes"][0]["unit"], described["metrics"][1]["unit"]) == ('"yes"\n', '\\pages"')
            case = {"experiment": "reading", "variant": "read", "device": "cpu"}
            assert [m["type"] for m in c.ask("plan", axes={"text": False}, **case)] == ["status"]
            assert outcome(c.ask("plan", axes={"text": True}, **case)) == ("failed", "work() set flops to -5, which is not a number from 0; 0 = not known")
        if language == "python":
            status, message = outcome(c.measure("reading", "read", {"text": True}))
            assert status == "failed" and "ValueError: ? b\u00e4d (reading.py" in message


TOUCHES_IN_PYTHON = '''
import mmap, perfkit
@perfkit.experiment("touching", axes={"again": [False, True]})
class Touching:
    def setup(self, case):
        if case.again:
            self.reset = lambda: None
    @perfkit.variant("a hundred fresh pages")
    def touch(self):
        with mmap.mmap(-1, 100 * mmap.PAGESIZE) as fresh:
            for at in range(0, len(fresh), mmap.PAGESIZE):
                fresh[at] = 1
perfkit.main()
'''
TOUCHES_IN_C = r'''
#include "perfkit.h"
#include <sys/mman.h>
static void touch(perfkit_case *c)
{
    char *p = (char *)mmap(NULL, 100 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 100; i++)
        p[i * 4096] = 1;
    munmap(p, 100 * 4096);
    (void)c;
}
int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("touching", "");
    perfkit_axis(e, "again", PERFKIT_BOOL, "off,on", "");
    perfkit_variant(e, "touch", touch, "a hundred fresh pages");
    return perfkit_main(e, argc, argv);
}
'''


@pytest.mark.usefixtures("counts")
@pytest.mark.parametrize("language", ["python", "c"])
def test_its_samples_are_counted(perfkit, tmp_path, language):
    """By perfkit, of every call its own."""
    if language == "python":
        program = tmp_path / "touching.py"
        program.write_text(TOUCHES_IN_PYTHON)
    else:
        program = tmp_path / "touching"
        (tmp_path / "touching.c").write_text(TOUCHES_IN_C)
        subprocess.run(["cc", "-O2", f"-I{CLIENT}", "-D_GNU_SOURCE", "-o", program, tmp_path / "touching.c"], check=True)
    r = perfkit("run", program, "--invocations", "1", "--max-time", "20ms", "--min-time", "1ms", "--counters", "sw")
    assert r.status == 0, r
    counts = query(perfkit, "SELECT json_extract(axes, '$.again'), value FROM v_counter WHERE name = 'page_faults' AND region = 'iteration' ORDER BY 1")
    assert [again for again, _ in counts] == [0, 1] and all(100 <= value < 103 for _, value in counts), counts


REFUSED = [
    {"experiment": "another"}, {"variant": "another"}, {"variant": None}, {"axes": []}, {"axes": None}, {"axes": {"m": 1}}, {"axes": {"n": "1"}},
    {"axes": {"n": 1.5}}, {"axes": {"n": True}}, {"axes": {"n": None}}, {"axes": {"n": [1]}}, {"axes": {"mode": "bad"}}, {"axes": {"mode": 1}},
    {"axes": {"warm": 1}}, {"axes": {"scale": "1"}}, {"axes": {"n" * 1000: 1}}, {"device": 7}, {"axes": {"mode": "wel\0l"}},
]


def test_a_case_that_it_does_not_know_fails(argv):
    with talk(argv) as c:
        for members in REFUSED:
            assert outcome(c.measure(**{"experiment": "counting", "variant": "up-to", **members}))[0] == "failed", members
        assert outcome(c.measure("counting", "up-to", device="cuda:0"))[0] == "skipped"
        assert outcome(c.measure("counting", "up-to", device="null"))[0] == "skipped"
        assert outcome(c.ask("dance")) == ("failed", "this program does not know requests of type dance")
        c.send('{"type":"greet"}\n\n  \n{"later":{"a":[1,2,{"b":"\\u00e4\\ud83d\\ude00"}]},"type":"greet","id":"x"}\r')  # of a later perfkit: nothing waits
        assert outcome(c.measure("counting", "up-to", {"mode": "well", "scale": -1e-3, "warm": True}))[0] == "ok"


NO_REQUESTS = [b"hello?\n", b"[]\n", b'{"id":1}\n', b'{"type":7,"id":1}\n', b'{"type":"measure","id":1\n', b"{" * 5000 + b"\n",
               b'{"a":' * 5000 + b"\n", b'"' + b"x" * (9 << 20) + b'"\n']
NO_JSON = [b'{"type":"measure",}\n', b'{"type":"me\x01"}\n', b'{"type":"\\x"}\n', b'{"type":"quit"} {"type":"quit"}\n', b'{"type":"\\u12"}\n',
           b'{"type":01}\n', b'{"type":tru}\n']


@pytest.mark.parametrize("language, lines", [("python", NO_REQUESTS), ("c", NO_REQUESTS + NO_JSON)])  # Python's own module reads its JSON
def test_what_is_no_request_ends_it(programs, language, lines):
    for line in lines:
        c = talk(programs[language])
        try:
            c.program.stdin.write(line)
            c.program.stdin.close()
        except BrokenPipeError:
            pass  # it has read enough
        status = c.program.wait(timeout=20)
        said = c.program.stderr.read().decode(errors="replace")
        assert status in (1, 2) and "docs/protocol.md" in said and "Sanitizer" not in said and "Traceback" not in said, (line[:40], status, said)
        c.replies.close()


def test_an_incomplete_last_line_is_dropped(argv):
    c = talk(argv)
    c.send(b'{"type":"measure","id":1')
    with c:
        pass


IN_WORDS = '''
import perfkit

@perfkit.experiment("words", axes={"n": {"type": "int", "default": 3}},
                    metrics=[{"name": "wait_ns"}, {"name": "hits"}])
class Words:
    @perfkit.variant("nothing")
    def a(self): pass
    def metrics(self, case):
        return {"wait_ns": 5, "hits": 7, **({"mises": 1} if case.n == 4 else {})}
ASYNC
perfkit.main()
'''


def test_metrics_in_python_have_units_and_names(tmp_path):
    program = tmp_path / "words.py"
    program.write_text(IN_WORDS.replace("ASYNC", ""))
    with talk([sys.executable, str(program)]) as c:
        assert c.ask("describe")[0]["axes"] == [{"name": "n", "type": "int", "default": [3]}]
        m = c.measure("words", "a", {"n": 3})
        assert outcome(m) == ("ok", "") and samples(m, "wait_ns") == {"steady": ([5], 1)} and samples(m, "hits") == {"steady": ([7], 1)}
        assert {"wait_ns": "ns", "hits": "1"}.items() <= {x["name"]: x["unit"] for x in of_type(m, "metric")}.items()
        status, message = outcome(c.measure("words", "a", {"n": 4}))
        assert status == "failed" and "mises" in message
    program.write_text(IN_WORDS.replace('{"type": "int", "default": 3}', '"abc"'))
    done = by_hand([sys.executable, str(program)])
    assert done.returncode == 1 and "axis n: a list of values of one type" in done.stderr, done
    program.write_text(IN_WORDS.replace("ASYNC", "    @perfkit.variant('b')\n    async def b(self): pass\n"))
    done = by_hand([sys.executable, str(program)])
    assert done.returncode == 1 and "b: a call of a coroutine" in done.stderr, done


NO_NUMBERS = {"float('nan')": "nan", "-1": "-1", "'7'": "'7'", "True": "True", "10**400": "1000"}
IN_WORK = '''
import perfkit
@perfkit.experiment("work", axes={"n": [0, 1, 2, 3, 4]})
class Work:
    @perfkit.variant("nothing")
    def v(self): pass
    def bytes(self, case): return VALUE
perfkit.main()
'''


def test_work_that_is_no_number_is_refused(perfkit):
    (perfkit.cwd / "bench.py").write_text(IN_WORK.replace("VALUE", f"[{', '.join(NO_NUMBERS)}][case.n]"))
    perfkit("run", "./bench.py").refused(2, 'cannot plan v {"n":0}', "bytes() returned nan")
    done = by_hand([sys.executable, perfkit.cwd / "bench.py"])
    assert done.returncode == 1 and not done.stderr, done
    for line, shown in zip(done.stdout.splitlines(), NO_NUMBERS.values(), strict=True):
        assert f"failed: bytes() returned {shown}" in line, line


def test_reserved_names_are_those_of_the_protocol(programs, tmp_path):
    """In the page, in both clients, and by hand."""
    page = (CLIENT.parents[1] / "docs/protocol.md").read_text().partition("**Reserved names.**")[2].partition("## ")[0]
    names = ast.literal_eval(re.search(r"^RESERVED = (\(.*?\))$", (CLIENT / "perfkit.py").read_text(), re.M | re.S).group(1))
    in_c = re.search(r"reserved\[\] =(.*?);", (CLIENT / "perfkit.h").read_text(), re.S).group(1).replace('"', "").split()
    in_perfkit = re.search(r"names\[\] = \{(.*?)\}", (CLIENT.parent / "bench/own/members.c").read_text(), re.S).group(1)
    assert set(re.findall(r"`(\w+)`", page)) == set(names) == set(in_c) == set(re.findall(r'"(\w+)"', in_perfkit))
    source = (tmp_path / "bench.py")
    source.write_text(IN_WORK.replace("VALUE", "1").replace('"n"', '"seed"'))
    assert "'seed'" in by_hand([sys.executable, source]).stderr
    (tmp_path / "bench.c").write_text(IN_C.replace('(e, "n"', '(e, "seed"'))
    done = by_hand([compiled("cc", tmp_path / "bench.c", tmp_path / "bench", "-std=c99", *STRICT)])
    assert done.returncode == 2 and "choose another: seed" in done.stderr, done


def test_a_metric_that_c_did_not_declare(tmp_path):
    assert IN_C.count('perfkit_report(c, "steps"') == 1
    (tmp_path / "bench.c").write_text(IN_C.replace('perfkit_report(c, "steps"', 'perfkit_report(c, "leaps"'))
    done = by_hand([compiled("cc", tmp_path / "bench.c", tmp_path / "bench", "-std=c99", *STRICT)], "mode=well", "n=5")
    assert done.returncode == 2 and "leaps, which no perfkit_metric declares; declared: steps" in done.stderr, done


def test_help_by_hand(argv):
    done = by_hand(argv, "--help")
    assert done.returncode == 0 and not done.stderr and done.stdout.startswith("usage: "), done
    assert "variants: up-to" in done.stdout and all(axis in done.stdout for axis in ("n", "mode", "scale", "warm", "zero"))


def test_without_a_descriptor_it_says_so(programs):
    for value in ("x", "", "7777", "-1"):
        for argv in programs.values():
            done = subprocess.run(argv, env={**PYTHON, "PATH": "/usr/bin:/bin", "PERFKIT_WIRE_FD": value}, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode in (1, 2) and "PERFKIT_WIRE_FD" in done.stderr and "Traceback" not in done.stderr, (argv, value, done)


def by_hand(argv, *words):
    return subprocess.run([*argv, *words], env={**PYTHON, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("language", ["python", "c"])
def test_by_hand_it_prints_a_line_for_each_case(programs, language):
    argv = programs[language]
    done = by_hand(argv, "mode=well,raise,oom,skip", "n=1000,20", "up-to")
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) == 8, done
    for n in ("1000", "20"):
        for mode, words in {"well": r"[\d.]+ [mun]?s  \+-.* samples .*FLOP/s", "raise": "failed: .*no such thing", "oom": "oom: .+", "skip": "skipped: does not apply"}.items():
            assert [line for line in lines if re.match(rf"up-to +n={n} mode={mode} .*{words}", line)], (n, mode, lines)
    assert by_hand(argv, "mode=well", "n=5").returncode == 0
    below = by_hand(argv, "mode=well", "n=-5")
    assert below.returncode == 1 and "failed: axis n: " in below.stdout, below
    for wrong in ("n=x", "m=3", "another", "mode="):
        done = by_hand(argv, wrong)
        assert done.returncode != 0 and done.stdout + done.stderr and "Traceback" not in done.stderr, (wrong, done)


def test_threads_that_nobody_sets_are_a_warning(programs):
    with talk(programs["python"]) as c:
        settings = {m["key"] for m in of_type(c.measure("counting", "up-to", device_options={"threads": 2}), "setting")}
        assert settings == {"clock", "threads_warning"}


def test_python_of_version_3_9_reads_it():
    for path in (CLIENT / "perfkit.py", *EXAMPLES.glob("*.py")):
        ast.parse(path.read_text(), feature_version=(3, 9))


# --- results against a reference ---

COMPARED = [(1, 1, True), (1.0, 1.00001, True), (1.0, 1.1, False), ("a", "a", True), ("a", "b", False), ([1, 2], [1, 2], True), ([1, 2], [1], False),
            ([1.0, 2.0], [1.0, 2.1], False), ({"a": [1.0, "x"]}, {"a": [1.0, "x"]}, True), ({"a": 1}, {"b": 1}, False), (float("nan"), 1.0, False), (None, None, True),
            (None, 1, False), (True, True, True), (100001, 100000, False), ([100001], [100000], False), (1, 1.0, True), (1 + 2j, 1 + 2j, True), ((1, (2, 3)), (1, (2, 4)), False), ([], [], True), (0, 0, True)]


def test_results_are_compared():
    sys.path.insert(0, str(CLIENT))
    import perfkit
    cases = list(COMPARED)
    try:
        import numpy as np
        x = np.linspace(0, 1, 7)
        cases += [(x.astype("float32"), x, True), (x, x + 0.1, False), (x, x[:3], False), (x.astype(int), x.astype(int), True), ([x, x], [x, x], True),
                  (x > 0.5, x > 0.5, True), (x > 0.5, x > 0.7, False), (np.uint8([5]), np.uint8([6]), False), (x * np.nan, x, False), (x[:0], x[:0], True),
                  (np.float32(2), 2.0, True), (np.array(["a"]), np.array(["a"]), True), (x.astype(complex), x.astype(complex) + 1j, False)]
    except ImportError:
        pass
    for got, want, same in cases:
        try:
            perfkit.compare(got, want, 1e-4)
            said = True
        except perfkit.Refused:
            said = False
        assert said == same, (got, want)


# --- a GPU, made up ---

MADE_UP_TORCH = '''
"""What perfkit.py needs of PyTorch: a stream whose clock advances by what is launched, in us, and a host that must not wait in between."""
__version__ = "0.made.up"
uint8 = "uint8"
log = []


class OutOfMemoryError(RuntimeError):
    pass


class cuda:
    now = peak = held = 0.0
    OutOfMemoryError = OutOfMemoryError

    class Event:
        def __init__(self, enable_timing=False):
            assert enable_timing
        def record(self):
            self.at = cuda.now
            log.append("event")
        def elapsed_time(self, other):
            return (other.at - self.at) / 1000

    is_available = staticmethod(lambda: True)
    is_initialized = staticmethod(lambda: True)
    current_device = staticmethod(lambda: 1)
    set_device = staticmethod(lambda index: log.append("device %d" % index))
    synchronize = staticmethod(lambda: log.append("wait"))
    empty_cache = staticmethod(lambda: log.append("empty"))
    max_memory_allocated = staticmethod(lambda: 4096)
    reset_peak_memory_stats = staticmethod(lambda: log.append("peak"))
    set_per_process_memory_fraction = staticmethod(lambda share: log.append("share %g" % share))

    class get_device_properties:
        L2_cache_size, total_memory = 1000, 10000
        def __init__(self, index):
            pass


class empty:
    def __init__(self, n, dtype, device):
        assert (n, dtype, device) == (2000, uint8, "cuda")
    def zero_(self):
        cuda.now += 50
        log.append("flush")


def launch(us):
    cuda.now += us
    log.append("launch")
'''
ON_A_GPU = '''
import perfkit, torch

@perfkit.experiment("launching", axes={"us": [7.5]})
class Launching:
    def setup(self, case):
        self.us = case.us
        assert case.device == "cuda:1"
    @perfkit.variant
    def launch(self):
        if self.us < 0:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate much. Nothing else")
        if self.us > 1000:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        torch.launch(self.us)
    def metrics(self, case):
        return {"one": " ".join(torch.log[-8:-1]).count("wait flush event launch event wait")}

perfkit.registered[0].metrics.append({"name": "one", "unit": "1"})
perfkit.main()
'''


def test_times_of_a_gpu(tmp_path):
    (tmp_path / "torch.py").write_text(MADE_UP_TORCH)
    (tmp_path / "bench.py").write_text(ON_A_GPU)
    c = talk([sys.executable, tmp_path / "bench.py"])
    with c:
        assert c.ask("describe")[0]["devices"] == ["cpu", "cuda"]
        m = c.measure("launching", "launch", device="cuda:1", device_options={"limit_bytes": 5000})
        assert outcome(m) == ("ok", "")
        assert set(samples(m, "time_ns")["steady"][0]) == {7500} and samples(m, "time_ns")["steady"][1] == 1
        assert len(samples(m, "time_host_ns")["steady"][0]) == len(samples(m, "time_ns")["steady"][0])
        assert samples(m, "peak_bytes")["steady"][0] == [4096]
        assert {x["key"]: x["value"] for x in of_type(m, "setting")} == {"torch": "0.made.up", "clock": "events of torch"}
        m = c.measure("launching", "launch", device="cuda:GPU-8f3a10c2")
        assert outcome(m)[0] == "failed" and "AssertionError" in outcome(m)[1]  # in setup: it was not skipped
        assert outcome(c.measure("launching", "launch", {"us": -1.0}, device="cuda:1")) == ("oom", "CUDA out of memory. Tried to allocate much. Nothing else")
        m = c.measure("launching", "launch", {"us": 2000.0}, device="cuda:1")
        assert outcome(m)[0] == "failed" and m[-2]["type"] == "bye"  # another process measures the next case
        c.replies.readline = lambda: ""
        assert c.program.wait(timeout=20) == 0
        c.replies.read = lambda: '{"type": "bye"}\n'


IN_CUDA = r"""
#include "perfkit_cuda.h"

static int mode; /* 0 launches, 1 also waits, 2 takes too much memory, 3 breaks the GPU */

static void setup(perfkit_case *c)
{
    mode = (int)perfkit_int(c, "mode");
    made_up_error = mode == 3 ? cudaErrorIllegalAddress : cudaSuccess;
    if (perfkit_cuda_alloc(c, 4096) && mode == 2)
        perfkit_cuda_alloc(c, 1 << 20);
}
static void launch(perfkit_case *)
{
    made_up_work(3);
    if (mode == 1)
        cudaStreamSynchronize(perfkit_stream());
    made_up_work(4.5);
}
static void teardown(perfkit_case *c)
{
    perfkit_report(c, "flushed", made_up.flushed);
    perfkit_report(c, "held", made_up.held);
    made_up.flushed = made_up.held = 0;
    perfkit_free_blocks(c);
    perfkit_report(c, "live", made_up.live); /* what the client itself holds: a stream, two events, two blocks */
}
int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("made-up", "");
    perfkit_axis(e, "mode", PERFKIT_INT, "0", "");
    perfkit_variant(e, "launch", launch, "");
    perfkit_metric(e, "flushed", "1", "none");
    perfkit_metric(e, "held", "1", "none");
    perfkit_metric(e, "live", "1", "none");
    e->setup = setup;
    e->teardown = teardown;
    return perfkit_cuda_main(e, argc, argv);
}
"""


@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler here")
def test_samples_of_a_stream(tmp_path, sanitized):
    (tmp_path / "bench.cpp").write_text(IN_CUDA)
    made_up = pathlib.Path(__file__).parent / "made_up_cuda"
    program = compiled("c++", tmp_path / "bench.cpp", tmp_path / "bench", "-std=c++11", "-g", *STRICT, f"-I{made_up}", *sanitized)
    stop = {**STOP, "min_samples": 5}
    with talk([program]) as c:
        assert c.ask("describe")[0]["devices"] == ["cuda"]
        m = c.measure("made-up", "launch", {"mode": 0}, device="cuda:0", stop=stop)
        assert outcome(m) == ("ok", "")
        assert samples(m, "time_ns") == {"first": ([7500], 1), "warmup": ([7500], 1), "steady": ([7500] * 5, 1)}  # no launch of 10 us is in it
        assert len(samples(m, "time_host_ns")["steady"][0]) == 5 and samples(m, "peak_bytes")["steady"][0] == [4096]
        assert [samples(m, name)["steady"][0] for name in ("flushed", "held", "live")] == [[7], [7], [5]]
        m = c.measure("made-up", "launch", {"mode": 1}, device="cuda:0", stop=stop)  # a call that waits: held once, in vain, and never again
        assert outcome(m) == ("ok", "") and samples(m, "held")["steady"][0] == [1] and samples(m, "flushed")["steady"][0] == [8]
        assert set(samples(m, "time_ns")["steady"][0]) == {23000}  # 3 us, and two launches after the wait
        status, message = outcome(c.measure("made-up", "launch", {"mode": 2}, device="cuda:0"))
        assert status == "oom" and "out of memory" in message
        assert outcome(c.measure("made-up", "launch", device="cpu"))[0] == "skipped"
        assert outcome(c.measure("made-up", "launch", device="cuda:7"))[0] == "skipped"
        for device in ("cuda", "cuda:GPU-8f3a10c2-0000-1111-2222-333344445555"):
            assert outcome(c.measure("made-up", "launch", {"mode": 0}, device=device))[0] == "ok"
    c = talk([program])
    m = c.measure("made-up", "launch", {"mode": 3}, device="cuda:0")
    assert [x["type"] for x in m] == ["bye", "status"] and outcome(m) == ("failed", "the variant: an illegal memory access was encountered")
    assert c.program.wait(timeout=20) == 1 and "Sanitizer" not in c.program.stderr.read().decode()
    c.replies.close()


# --- what is installed, and what `init` writes ---

def test_the_wheel_is_python_alone(tmp_path):
    wheel, = (pathlib.Path(BINARY).parent / "lib" / "client").glob("perfkit_client-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as z:
        assert z.testzip() is None and z.read("perfkit.py") == (CLIENT / "perfkit.py").read_bytes()
    if not importlib.util.find_spec("pip"):
        pytest.skip("there is no pip for %s" % sysconfig.get_python_version())
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--no-compile", "--target", tmp_path / "there", wheel]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there" / "perfkit.py").exists() and list((tmp_path / "there").glob("perfkit_client-*.dist-info/RECORD"))


LANGUAGES = [("python", "py"), ("c", "c"), ("cuda", "cu"), ("shell", "sh")]


@pytest.mark.parametrize("language, suffix", LANGUAGES)
def test_init_writes_an_example_under_another_name(perfkit, language, suffix):
    r = perfkit("init", language, "Sum-2.b")
    path = perfkit.cwd / f"Sum-2.b.{suffix}"
    assert r.status == 0 and path.name in r.stderr, r
    assert path.read_text() == (EXAMPLES / f"my-bench.{suffix}").read_text().replace("my-bench", "Sum-2.b")
    assert bool(path.stat().st_mode & 0o100) == (language in ("python", "shell"))
    assert r.stdout.splitlines()[-1] == "perfkit run ./Sum-2.b" + {"python": ".py", "shell": ".sh"}.get(language, "")
    path.write_text("mine")
    perfkit("init", language, f"Sum-2.b.{suffix}").refused(2, "File exists", f"perfkit init {language} NAME")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("language", ["python", "c"])
def test_the_lines_that_init_prints_run(perfkit, language):
    lines = perfkit("init", language).stdout.splitlines()
    script = "set -e\n" + "\n".join(line for line in lines if not line.startswith("perfkit run"))
    done = subprocess.run(["sh", "-c", script], cwd=perfkit.cwd, env={**perfkit.environment(), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 4, done


def test_init_refuses(perfkit):
    perfkit("init", "ruby").refused(2, "python, c, cuda, shell")
    for name in ("extraction", "hyperfine", "../x", "a b", "", ".x", "-", "x" * 65, 'a"b'):
        perfkit("init", "c", "--", name).refused(2, "is not a valid experiment name")
    for name in ("perfkit", "json.py", "numpy", "time"):
        perfkit("init", "python", name).refused(2, "imports a module", "perfkit init python my-")
    perfkit("init").refused(2)
    assert not list(perfkit.cwd.iterdir())


# --- through perfkit: run, gated against a slower copy, reported ---

SHORT = ("--invocations", "1", "--max-time", "20ms", "--min-time", "1ms", "--min-samples", "3", "-q", "--format", "json")
TWELVE_LINES = """\
import perfkit
@perfkit.experiment("squares", axes={"n": [500, 1000]}, yardstick="generator")
class Squares:
    def setup(self, case):
        self.n = range(case.n)
    def reference(self, case):
        return case.n * (case.n - 1) * (2 * case.n - 1) // 6
    @perfkit.variant("a sum of a generator")
    def generator(self):
        return sum(x * x for x in self.n)
    def flops(self, case): return 2 * case.n
perfkit.main()
"""
SQUARES_IN_C = r"""
#include "perfkit.h"
static int64_t n, total;
static void setup(perfkit_case *c)
{
    n = perfkit_int(c, "n");
}
static void loop(perfkit_case *c)
{
    total = 0;
    for (volatile int64_t i = 0; i < n; i++)
        total += i * i;
}
static void check(perfkit_case *c)
{
    perfkit_near(c, "the sum", (double)total, (double)(n * (n - 1) * (2 * n - 1) / 6));
}
int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("squares", "what a sum of squares costs");
    perfkit_axis(e, "n", PERFKIT_INT, "5000,10000", "");
    perfkit_variant(e, "loop", loop, "one loop");
    e->setup = setup;
    e->check = check;
    return perfkit_main(e, argc, argv);
}
"""


@pytest.fixture(params=["python", "c"])
def squares(request, perfkit):
    """(a program of a few lines, the same made slower, its variant, its largest n)."""
    slower = perfkit.cwd / "slower"
    slower.mkdir()
    if request.param == "python":
        assert TWELVE_LINES.count("\n") == 12
        for folder, text in ((perfkit.cwd, TWELVE_LINES), (slower, TWELVE_LINES.replace("return sum(", "return sum(x * x + x for x in [*self.n] * 2) * 0 + sum("))):
            (folder / "squares.py").write_text(text)
        return "./squares.py", "./slower/squares.py", "generator", 1000
    assert len(SQUARES_IN_C.strip().splitlines()) == 25
    for folder, text in ((perfkit.cwd, SQUARES_IN_C), (slower, SQUARES_IN_C.replace("i < n; i++)", "i < 4 * n; i++)").replace("total += i * i", "total += i < n ? i * i : 0"))):
        (folder / "squares.c").write_text(text)
        compiled("cc", folder / "squares.c", folder / "squares", "-O1", f"-I{CLIENT}")
    return "./squares", "./slower/squares", "loop", 10000


@pytest.mark.timed  # the verdict of a gate of 12 pairs beside other processes
def test_a_few_lines_are_run_gated_and_reported(measured, perfkit, squares):
    program, slower, variant, n = squares
    r = perfkit("run", program, *SHORT, env={"PERFKIT_PYTHON": sys.executable})
    assert r.status == 0 and [(row["variant"], row["n"], row["status"]) for row in r.rows("results")] == [(variant, n // 2, "ok"), (variant, n, "ok")], r
    gate = perfkit("gate", program, "--a", program, "--b", slower, "-a", f"n={n}", "--max-pairs", "12", *SHORT[2:], env={"PERFKIT_PYTHON": sys.executable})
    assert gate.status == 3 and f"time_ns of {variant}" in gate.stderr, gate
    assert [(row["variant"], row["verdict"]) for row in gate.rows("compare_ns")] == [(variant, "slower")]
    if variant == "generator":
        return  # a page shows no more of it
    assert perfkit("report", "@~1", "@", "-o", "page.html").status == 0
    page = (perfkit.cwd / "page.html").read_text()
    assert "squares" in page and variant in page and "slower" in page


def test_cases_that_do_not_fit_or_are_wrong_are_rows(measured, perfkit, programs):
    for language, argv in programs.items():
        r = perfkit("run", argv[-1], "-a", "mode=well,wrong,oom,raise,skip", "-a", "n=50", *SHORT, env={"PERFKIT_PYTHON": sys.executable})
        rows = {row["mode"]: (row["status"], row["message"]) for row in r.rows("results")}
        assert r.status == 1 and {mode: status for mode, (status, _) in rows.items()} == {
            "well": "ok", "wrong": "failed", "oom": "oom", "raise": "failed", "skip": "skipped"}, (language, r)
        assert "the reference" in rows["wrong"][1] and "no such thing" in rows["raise"][1] and rows["skip"][1] == "does not apply" and rows["oom"][1]


# --- the examples ---

def nvcc():
    return shutil.which("nvcc") or next((p for p in ["/usr/local/cuda/bin/nvcc"] if pathlib.Path(p).exists()), None)


FOR_GPUS = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90a,code=sm_90a", "-Xcompiler", "-Wall,-Wextra,-Werror", "-Werror", "all-warnings"]


def example(name, tmp):
    """The argv of an example, compiled where that is needed; skips where its language is not installed."""
    path, out = EXAMPLES / name, tmp / "bench"
    compilers = {"my-bench.c": ["cc", "-O2", f"-I{CLIENT}"], "my-bench.cu": [nvcc(), *FOR_GPUS, f"-I{CLIENT}"], "protocol.rs": ["rustc"]}
    if name in compilers:
        if not compilers[name][0] or not shutil.which(compilers[name][0]):
            pytest.skip("the compiler of %s is not installed here" % name)
        return [compiled(compilers[name][0], path, out, *compilers[name][1:])]
    if name.endswith(".sh"):
        return [path]
    module = {"matmul.py": "numpy", "torch_module.py": "torch"}.get(name)
    if module and subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("%s is not installed here" % module)
    return [sys.executable, path]


NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".c", ".cu", ".sh", ".rs"))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_measured(measured, perfkit, name, tmp_path):
    argv, on_gpu = example(name, tmp_path), name.endswith(".cu")
    with talk(argv) as c:
        described, status = c.ask("describe")
        assert status["status"] == "ok"
        axes = {axis["name"]: axis["default"][0] for axis in described["axes"]}
        case = {"axes": axes, "device": "cuda:0" if on_gpu else "cpu"}
        assert outcome(c.measure(described["name"], "another", **case))[0] == "failed"
        if on_gpu:
            status, message = outcome(c.measure(described["name"], "copy", **case))
            assert status == "ok" or (status == "skipped" and "there is no GPU 0" in message)
            return
    r = perfkit("run", argv[-1], *(word for key, value in axes.items() for word in ("-a", f"{key}={value}")), *SHORT, env={"PERFKIT_PYTHON": sys.executable})
    rows = r.rows("results")
    assert r.status == 0 and [row["variant"] for row in rows] == [v["name"] for v in described["variants"]], r
    assert all(row["status"] == "ok" and row["time_ns"] > 0 for row in rows)


def test_every_kind_of_example_is_there():
    assert {pathlib.Path(name).suffix for name in NAMES} == {".py", ".c", ".cu", ".sh", ".rs"} and {"matmul.py", "torch_module.py"} <= set(NAMES)
