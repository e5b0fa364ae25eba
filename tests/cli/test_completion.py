"""The bash script knows the words of the option rows."""
import shutil
import subprocess

import pytest


def complete(perfkit, *words):
    """What bash offers for the last word."""
    script = perfkit("completion")
    assert script.status == 0
    line = " ".join(f"'{w}'" for w in words)
    program = f"{script.stdout}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_perfkit\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    p = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0 and p.stderr == "", p.stderr
    return p.stdout.split()


pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")


def test_words(perfkit):
    assert complete(perfkit, "perfkit", "li") == ["list"]
    assert "worker" not in complete(perfkit, "perfkit", "")
    assert {"--format", "--all", "--help"} <= set(complete(perfkit, "perfkit", "list", "--"))
    assert complete(perfkit, "perfkit", "list", "--format", "j") == ["json", "jsonl"]
    assert complete(perfkit, "perfkit", "help", "lis") == ["list"]


def test_words_of_a_command(perfkit):
    assert complete(perfkit, "perfkit", "list", "") == ["experiments", "devices", "counters", "runs"]
    assert complete(perfkit, "perfkit", "db", "") == ["info", "migrate", "merge", "check", "prune"]
    assert complete(perfkit, "perfkit", "export", "js") == ["json", "jsonl"]
    assert complete(perfkit, "perfkit", "show", "") == complete(perfkit, "perfkit", "compare", "") == []
    assert complete(perfkit, "perfkit", "help", "run", "att") == ["attention-scaling"]
    assert complete(perfkit, "perfkit", "list", "experiments", "att") == ["attention-scaling"]


def test_names_of_an_experiment(perfkit):
    assert complete(perfkit, "perfkit", "run", "attention-scaling", "--variant", "f") == ["fused", "flash"]
    assert complete(perfkit, "perfkit", "run", "selftest", "-p", "") == ["quick", "grid"]


def test_axes_are_options(perfkit):
    assert complete(perfkit, "perfkit", "run", "attention-scaling", "--seq") == ["--seq-len"]
    assert complete(perfkit, "perfkit", "run", "attention-scaling", "--causal", "") == ["on", "off"]
    assert complete(perfkit, "perfkit", "run", "attention-scaling", "--busy") == []
    assert complete(perfkit, "perfkit", "run", "selftest", "--input", "") == []  # bash's own: file names


def test_script_into_a_file(perfkit):
    assert perfkit("completion", "-o", "script").stdout == ""
    assert "complete -o default -F _perfkit perfkit" in (perfkit.cwd / "script").read_text()
