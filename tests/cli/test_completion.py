"""Completion: perfkit says what a word may become, and bash, zsh and fish insert it as one word, whatever is in it."""
import fcntl
import os
import pty
import select
import shutil
import subprocess
import termios
import time

import pytest
from conftest import BINARY
from stored import Stored, query

HOSTILE = ["a b", "it's", '"q"', "$(touch W)", "`touch W`", "x;touch W", "x|touch W", "x&touch W", "a\\b", "*", "#c", "!!", "(s)", "<W", ">W", "a=b", "{1,2}", "ä€"]
HIDDEN = ["n\nl", "t\tb", "e\x1b[31m", "u\u202eo", "--output=W", "-rf", "~root", "\x07", "\u200b", ""]


@pytest.fixture
def store(perfkit):
    """Runs with labels of all kinds, metrics and a baseline."""
    stored = Stored(perfkit.db)
    for label in ["nightly", "nice", *HOSTILE, *HIDDEN]:
        stored.run([("a", {"n": 1}, {"forward_ns": [1, 2], "peak_bytes": [1, 2]})], label=label)
    stored.db.close()
    assert perfkit("baseline", "save", "release", "1").status == 0
    return stored


def offered(perfkit, *words):
    """What perfkit offers for the last word."""
    r = perfkit("completion", "--", "perfkit", *words)
    assert r.status == 0 and r.stderr == "", r
    return r.stdout.splitlines()


# --- what is offered -------------------------------------------------------------------------------------------------------


def test_commands_and_options(perfkit):
    assert offered(perfkit, "li") == ["list"] and "worker" not in offered(perfkit, "") and "run" in offered(perfkit, "")
    assert {"--format", "--all", "--help"} <= set(offered(perfkit, "list", "--"))
    assert offered(perfkit, "list", "--format", "j") == ["json", "jsonl"]
    assert offered(perfkit, "list", "--format=j") == ["--format=json", "--format=jsonl"]
    assert offered(perfkit, "nosuch", "") == offered(perfkit, "nosuch", "--") == []
    assert offered(perfkit) == [] and perfkit("completion", "--").stdout == ""


def test_arguments_of_the_usage(perfkit):
    assert offered(perfkit, "list", "") == ["experiments", "devices", "counters", "runs", "baselines"]
    assert offered(perfkit, "list", "experiments", "att") == ["attention-scaling"]
    assert offered(perfkit, "list", "runs", "") == []
    assert offered(perfkit, "list", "counters", "cpu-b") == ["cpu-basic"]
    assert offered(perfkit, "db", "") == ["info", "migrate", "merge", "check", "prune"]
    assert offered(perfkit, "db", "merge", "") == []  # files are the shell's own
    assert offered(perfkit, "export", "js") == ["json", "jsonl"] and "table" not in offered(perfkit, "export", "")
    assert offered(perfkit, "help", "lis") == ["list"] and offered(perfkit, "help", "run", "att") == ["attention-scaling"]
    assert offered(perfkit, "run", "att") == offered(perfkit, "gate", "att") == ["attention-scaling"]
    assert offered(perfkit, "history", "exe") == ["exec"]
    assert offered(perfkit, "completion", "") == ["bash", "zsh", "fish"]
    assert offered(perfkit, "exec", "--", "l") == offered(perfkit, "exec", "--", "ls", "--") == []


def test_tables(perfkit):
    assert offered(perfkit, "show", "--table", "sca") == offered(perfkit, "show", "-t", "sca") == ["scaling"]
    assert {"case_times", "states", "verdicts", "crossover", "methods", "ranking"} <= set(offered(perfkit, "show", "@", "--table", ""))


def test_names_of_an_experiment(perfkit):
    assert offered(perfkit, "run", "attention-scaling", "--variant", "f") == ["fused", "flash"]
    assert offered(perfkit, "run", "attention-scaling", "-v", "f") == ["fused", "flash"]
    assert offered(perfkit, "run", "selftest", "-p", "") == ["quick", "grid"]
    assert offered(perfkit, "run", "attention-scaling", "--seq") == ["--seq-len"]
    assert offered(perfkit, "run", "attention-scaling", "--causal", "") == ["on", "off"]
    assert offered(perfkit, "run", "attention-scaling", "-a", "se") == ["seq_len="]
    assert offered(perfkit, "run", "attention-scaling", "-a", "dtype=b") == ["dtype=bf16"]
    assert offered(perfkit, "run", "attention-scaling", "-a", "dtype=fp32,b") == ["dtype=fp32,bf16"]
    assert "dtype=fp32,fp32" not in offered(perfkit, "run", "attention-scaling", "-a", "dtype=fp32,")
    assert offered(perfkit, "run", "attention-scaling", "--axis=causal=") == ["--axis=causal=on", "--axis=causal=off"]
    for word in ("seq_len=", "nosuch=", "=", "dtype=nosuch"):
        assert offered(perfkit, "run", "attention-scaling", "-a", word) == [], word
    assert offered(perfkit, "gate", "-a", "dtype=") == []  # of no experiment
    assert offered(perfkit, "run", "attention-scaling", "--busy") == []
    assert offered(perfkit, "run", "selftest", "--input", "") == []
    assert "numpy-attention" in offered(perfkit, "run", "attention-scaling", "--peer", "nu")
    assert offered(perfkit, "run", "attention-scaling", "-d", "c") == ["cpu", "cuda"]
    assert offered(perfkit, "compare", "--by", "seq") == ["seq_len"]


def test_values_of_a_plan(perfkit):
    assert offered(perfkit, "plan", "parallel", "--recompute", "none,") == ["none,selective", "none,block"]
    assert offered(perfkit, "plan", "parallel", "--sp", "o") == ["on", "off"] and offered(perfkit, "plan", "parallel", "--tp", "") == []
    assert offered(perfkit, "plan", "parallel", "--chip", "h") == ["h100-sxm", "h200-sxm"]
    assert offered(perfkit, "plan", "bucket", "--model", "ll") == ["llama-3-8b", "llama-3-70b", "llama-3-405b"]


def test_tables_of_a_plan(perfkit):
    printed = set()
    for args in (("bucket",), ("parallel",), ("parallel", "--explain")):
        printed |= set(perfkit("plan", *args, "--format", "json").json()["tables"])
    assert set(offered(perfkit, "plan", "parallel", "--tables", "")) == printed
    assert offered(perfkit, "plan", "parallel", "-t", "memory,tim") == ["memory,time", "memory,time_terms"]


def test_runs_labels_and_baselines(perfkit, store):
    runs = offered(perfkit, "show", "")
    assert {"@", "@~1", "1", "2", "release", "nightly"} <= set(runs) and len(set(runs)) == len(runs)
    for words in (("compare", ""), ("compare", "@", ""), ("compare", "--by", "n", ""), ("export", "csv", ""), ("baseline", "save", "x", "3", ""),
                  ("gate", "--against", ""), ("plan", "bucket", "--from", "")):
        assert offered(perfkit, *words) == runs, words
    assert offered(perfkit, "show", "ni") == ["nice", "nightly"]
    assert offered(perfkit, "compare", "@", "@", "") == []
    for words in (("run", "--label"), ("exec", "-l"), ("history", "demo", "--label"), ("baseline", "save", "x", "--label")):
        assert offered(perfkit, *words, "ni") == ["nice", "nightly"]
    assert offered(perfkit, "baseline", "show", "") == offered(perfkit, "baseline", "rm", "r") == ["release"]


def test_parts_of_lists(perfkit, store):
    assert offered(perfkit, "compare", "1", "2", "--metric", "") == ["forward_ns", "peak_bytes"]
    assert offered(perfkit, "compare", "1", "2", "--metric", "peak_bytes,") == ["peak_bytes,forward_ns"]
    assert offered(perfkit, "compare", "1", "2", "-m", "peak_bytes,f") == ["peak_bytes,forward_ns"]
    assert offered(perfkit, "history", "demo", "--metric=peak_bytes,f") == ["--metric=peak_bytes,forward_ns"]
    assert "forward_ns" in offered(perfkit, "gate", "attention-scaling", "-m", "forw")
    assert offered(perfkit, "show", "1,ni") == ["1,nice", "1,nightly"]
    assert offered(perfkit, "gate", "--against", "1,2,rel") == ["1,2,release"]
    assert offered(perfkit, "run", "attention-scaling", "--dtype", "fp32,b") == ["fp32,bf16"]
    assert offered(perfkit, "run", "attention-scaling", "--variant", "flash,fu") == ["flash,fused"]
    counters = offered(perfkit, "exec", "--counters", "sw,")
    assert {"sw,cpu-basic", "sw,sw-events", "sw,page_faults"} <= set(counters) and "sw,sw" not in counters
    assert not any("fake" in c for c in counters)
    assert {"energy", "rusage"} <= set(offered(perfkit, "doctor", "--require", ""))


def test_a_list_of_metrics_is_taken(perfkit, store):
    both = perfkit("compare", "1", "2", "--metric", "forward_ns,peak_bytes", "--format", "json").json()["tables"]
    assert len(both["compare_ns"]["rows"]) == len(both["compare_bytes"]["rows"]) == 1
    perfkit("compare", "1", "2", "--metric", "forward_ns,nosuch").refused(2, "nosuch")


def test_names_of_a_hostile_store(perfkit, store):
    names = offered(perfkit, "show", "")
    assert set(HOSTILE) <= set(names) and not set(HIDDEN) & set(names) and not any(n.startswith(("-", "~")) for n in names)
    other = perfkit.root / "other.db"
    shutil.copy(perfkit.db, other)
    query(other, "UPDATE run SET label = 'of another' WHERE id = 1")
    assert offered(perfkit, "show", "--db", str(other), "of") == ["of another"]
    other.write_bytes(b"no store" * 500)
    assert offered(perfkit, "show", "--db", str(other), "") == ["@", "@~1"]
    assert offered(perfkit, "show", "--db", str(perfkit.root / "missing.db"), "") == ["@", "@~1"]
    assert not (perfkit.root / "missing.db").exists()


def test_scripts(perfkit):
    assert perfkit("completion").stdout == perfkit("completion", "bash").stdout
    assert perfkit("completion", "-o", "script").stdout == "" and "_perfkit" in (perfkit.cwd / "script").read_text()
    perfkit("completion", "tcsh").refused(2, "no completion for 'tcsh'", "bash, zsh and fish")


# --- in the shells ---------------------------------------------------------------------------------------------------------------

RECORD = "printf '%s\\0' \"$@\" > part; mv part args; }"
SHELLS = {
    "bash": ("source <(perfkit completion bash)\nperfkit() { " + RECORD + "\nPS1='READY>'\n", ["--noprofile", "--rcfile"]),
    "zsh": ("autoload -U compinit; compinit -D -u\nsource <(perfkit completion zsh)\nperfkit() { " + RECORD + "\nPROMPT='READY>'\nunsetopt beep\n", []),
    "fish": ("perfkit completion fish | source\nfunction perfkit; printf '%s\\0' $argv > part; mv part args; end\n"
             "function fish_prompt; echo 'READY>'; end\n", ["--no-config", "-C"]),
}


class Shell:
    """An interactive shell on a terminal, in which the function perfkit writes its arguments to a file."""

    def __init__(self, name, perfkit):
        text, options = SHELLS[name]
        self.name, self.cwd, self.seen = name, perfkit.cwd, b""
        bin_ = perfkit.root / "bin"
        bin_.mkdir()
        (bin_ / "perfkit").symlink_to(BINARY)
        rc = perfkit.root / ".zshrc"
        rc.write_text(text)
        args = [shutil.which(name), *options, *([f"source {rc}"] if name == "fish" else [str(rc)] if options else []), "-i"]
        env = perfkit.environment({"PATH": f"{bin_}:{os.environ['PATH']}", "ZDOTDIR": str(perfkit.root), "TERM": "xterm"})
        self.fd, theirs = pty.openpty()
        self.process = subprocess.Popen(args, stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.cwd, env=env, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.until(lambda: b"READY>" in self.seen)

    def until(self, over):
        end = time.monotonic() + 30
        while not over() and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.02)[0]:
                self.seen += os.read(self.fd, 4096)
        assert over(), self.seen

    def typed(self, line):
        """The arguments that perfkit gets when this is typed, and Enter."""
        args = self.cwd / "args"
        args.unlink(missing_ok=True)
        os.write(self.fd, line.encode() + b"\r")
        self.until(args.exists)
        assert not (self.cwd / "W").exists(), line
        return args.read_bytes().decode().split("\0")[:-1]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


@pytest.fixture(params=sorted(SHELLS))
def shell(request, perfkit, store):
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param} here")
    one = Shell(request.param, perfkit)
    yield one
    one.close()


LINES = [
    ("li", ["list"]),
    ("show night", ["show", "nightly"]),
    ("compare 1 2 --metric peak_bytes,f", ["compare", "1", "2", "--metric", "peak_bytes,forward_ns"]),
    ("history demo --metric=peak_bytes,f", ["history", "demo", "--metric=peak_bytes,forward_ns"]),
    ("list counters cpu-b", ["list", "counters", "cpu-basic"]),
    ("run attention-scaling --dtype fp32,b", ["run", "attention-scaling", "--dtype", "fp32,bf16"]),
    ("run attention-scaling -a dtype=fp32,b", ["run", "attention-scaling", "-a", "dtype=fp32,bf16"]),
    ("run attention-scaling -a causal=of", ["run", "attention-scaling", "-a", "causal=off"]),
    ("baseline show r", ["baseline", "show", "release"]),
]
QUOTED = [("show a\\ ", ["show", "a b"]), ("show '$(t", ["show", "$(touch W)"]), ("show x\\;", ["show", "x;touch W"])]


def test_in_a_shell(shell):
    # bash hands over what was typed with its quotes: nothing is offered then
    for line, args in LINES + (QUOTED if shell.name != "bash" else []):
        assert shell.typed(f"perfkit {line}\t") == args


def test_every_hostile_name_is_one_word(shell, perfkit):
    """Each as the only candidate: what is inserted is read back by the shell as the name itself."""
    for name in HOSTILE:
        query(perfkit, "UPDATE run SET label = NULL")
        query(perfkit, "UPDATE run SET label = ? WHERE id = 1", name)
        assert shell.typed("perfkit history demo --label \t") == ["history", "demo", "--label", name]
