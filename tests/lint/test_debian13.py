"""Where CI cannot have a Debian 13, it says why, and the status is that of a skip. The machine is made of stand-ins."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
MACHINES = [
    ({"id": "echo 1000"}, "a chroot needs root"),
    ({"debootstrap": "exit 1"}, "Debian 13 could not be installed: its mirror cannot be reached, or see the log"),
    ({"unshare": "exit 1"}, "nothing can be mounted here"),
    ({"unshare": "case $* in *apt-get*) exit 100 ;; *dpkg*) exit 1 ;; esac"}, "packages of Debian 13 could not be installed"),
    ({"unshare": "case $* in *bootstrap*) exit 2 ;; esac"}, "packages of Debian 13 could not be installed"),
]


@pytest.mark.parametrize("tools, reason", MACHINES)
def test_why_there_is_none(tmp_path, tools, reason):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "debian13", tmp_path / ".ci")
    for name, text in ({"id": "echo 0", "debootstrap": 'mkdir -p "$3"', "unshare": "true"} | tools).items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    p = subprocess.run([tmp_path / ".ci" / "debian13", "setup"], env=os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True,
                       timeout=60, check=False)
    assert (p.returncode, p.stdout) == (77, reason + "\n"), p
