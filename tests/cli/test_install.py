"""`meson install`: the program with its man pages, completions, pages and examples, and help that says where they are."""
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BINARY, Perfkit

BUILD = pathlib.Path(BINARY).parent
SOURCES = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that stands for the prefix."""
    root = tmp_path_factory.mktemp("installed")
    p = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], capture_output=True, text=True, timeout=120, check=False)
    assert p.returncode == 0, p.stdout + p.stderr
    return next(root.rglob("bin/perfkit")).parents[1]


def commands():
    text = subprocess.run([BINARY, "help"], capture_output=True, text=True, timeout=60, check=True).stdout
    return re.findall(r"^  ([a-z-]+) ", text, re.M)


def test_each_command_has_a_man_page(installed):
    """Of the options of its help none is missing."""
    folder = installed / "share" / "man" / "man1"
    assert {p.name for p in folder.iterdir()} == {"perfkit.1"} | {f"perfkit-{c}.1" for c in commands()}
    for command in commands():
        help_text = subprocess.run([BINARY, "help", command], capture_output=True, text=True, timeout=60, check=True).stdout
        page = (folder / f"perfkit-{command}.1").read_text().replace("\\-", "-").replace("\\(aq", "'").replace("\\(ga", "`")
        options = re.findall(r"^ {2,6}(-.*?)(?: {2,}.*)?$", help_text, re.M)
        assert options and not [o for o in options if f"\n.B {o}\n" not in page], command
        assert f"perfkit-{command}".replace("-", "\\-") + " \\- " in (folder / f"perfkit-{command}.1").read_text()


SCRIPTS = [("bash", "bash-completion/completions/perfkit"), ("zsh", "zsh/site-functions/_perfkit"), ("fish", "fish/vendor_completions.d/perfkit.fish")]


@pytest.mark.parametrize("shell, path", SCRIPTS)
def test_completion_is_where_the_shell_looks(installed, shell, path):
    script = installed / "share" / path
    text = subprocess.run([BINARY, "completion", shell], capture_output=True, text=True, timeout=60, check=True).stdout
    assert script.read_text() == text and "perfkit" in text
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", script], check=False).returncode == 0


def test_pages_and_examples(installed):
    doc = installed / "share" / "doc" / "perfkit"
    for path in ("README.md", "LICENSE", "docs/commands.md", "docs/ci/github.yml", "docs/measurements/gates.md"):
        assert (doc / path).read_bytes() == (SOURCES / path).read_bytes()
    assert not list(doc.rglob("meson.build")) and not list(doc.rglob("*.py"))


def test_help_says_where_the_pages_are(tmp_path):
    where = Perfkit(tmp_path)("help").stdout.rsplit("Documentation: ", 1)[1].split(",")[0].strip()
    assert (pathlib.Path(where) / "commands.md").exists(), where
