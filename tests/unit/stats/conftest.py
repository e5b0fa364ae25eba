"""ask(FUNCTION, numbers ...): what lib/stats computes. Needs PK_STATS_ORACLE, the built program."""
import os
import subprocess

import pytest


@pytest.fixture(scope="module")
def ask():
    program = subprocess.Popen([os.environ["PK_STATS_ORACLE"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def question(name, *numbers):
        program.stdin.write(" ".join([name, *(repr(float(x)) for x in numbers)]) + "\n")
        program.stdin.flush()
        return [float(x) for x in program.stdout.readline().split()]

    yield question
    program.stdin.close()
    assert program.wait(10) == 0
