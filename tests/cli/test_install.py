"""`meson install`: the program with its man pages, completions, pages and examples, and help that says where they are."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

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


HAS_SCDOC = b", man perfkit-run" in pathlib.Path(BINARY).read_bytes()  # help names man pages where they were made
needs_scdoc = pytest.mark.skipif(not HAS_SCDOC, reason="there was no scdoc when perfkit was built")


def topics():
    text = subprocess.run([BINARY, "help", "topics", "--format", "json"], capture_output=True, text=True, timeout=60, check=True).stdout
    return [row["topic"] for row in json.loads(text)["tables"]["topics"]["rows"]]


def printed(page):
    """The text of a page of man without its macros: a line of the source is a line."""
    text = re.sub(r"\\f[BIR]|\\&", "", page.read_text())
    for escape, character in {"-": "-", "(aq": "'", "*(Aq": "'", "(ga": "`", "(ti": "~", "(ha": "^", "e": "\\"}.items():
        text = text.replace("\\" + escape, character)
    return text


@needs_scdoc
def test_each_command_has_a_man_page(installed):
    """Of the options of its help none is missing."""
    folder = installed / "share" / "man" / "man1"
    assert {p.name for p in folder.iterdir()} == {"perfkit.1"} | {f"perfkit-{c}.1" for c in commands()}
    for command in commands():
        help_text = subprocess.run([BINARY, "help", command], capture_output=True, text=True, timeout=60, check=True).stdout
        page = printed(folder / f"perfkit-{command}.1")
        options = re.findall(r"^ {2,6}(-.*?)(?: {2,}.*)?$", help_text, re.M)
        assert options and not [o for o in options if f"\n{o}\n" not in page], command
        assert f"\nperfkit-{command} - " in page and "\n.SH EXAMPLES\n" in page and "\n.SH EXIT STATUS\n" in page
    whole = printed(folder / "perfkit.1")
    assert all(f"\nperfkit-{c}(1)\n" in whole for c in commands()) and all(f"\nperfkit-{t}(7)\n" in whole for t in topics())
    assert "\n.SH EXIT STATUS\n" in whole and "130\n" in whole


def words(text):
    return re.findall(r"[A-Za-z]{4,}", text)


@needs_scdoc
def test_each_page_of_the_documentation_is_a_man_page(installed):
    """Its headings are sections, its commands stand as they are, and none of its words is missing."""
    folder = installed / "share" / "man" / "man7"
    assert {p.name for p in folder.iterdir()} == {f"perfkit-{t}.7" for t in topics()}
    for topic in topics():
        source, page = (SOURCES / "docs" / f"{topic}.md").read_text(), printed(folder / f"perfkit-{topic}.7")
        for heading in re.findall(r"^## (.*)$", source, re.M):
            assert ".SH " + heading.replace("`", "") in page.replace('"', ""), (topic, heading)
        for line in re.findall(r"^    (perfkit .*)$", source, re.M):
            assert line in page, (topic, line)
        missing = collections.Counter(words(re.sub(r"\]\([^)]*\)|<a id=.*?>|^```.*$", "", source, flags=re.M))) - collections.Counter(words(page))
        of_tables = words("\n".join(re.findall(r"^(\|.*)\n\|-", source, re.M)))  # of two columns they are left out
        assert not missing - collections.Counter(of_tables), (topic, missing)


@needs_scdoc
def test_text_that_begins_like_markup_is_text(tmp_path):
    shutil.copytree(SOURCES / "docs", tmp_path / "docs")
    begins = ("-O2 words", ".ini words", "#define words", "; words", "[x] words", "+ words", "~ words", "'x words", "a_b *c words")
    page = "# X\n\n" + "\n\n".join(begins) + "\n\n| a | b |\n|---|---|\n|  | -x |\n| .b | #c |\n"
    (tmp_path / "docs" / "store.md").write_text(page)
    subprocess.run([sys.executable, SOURCES / "docs" / "man.py", "scdoc", BINARY, tmp_path / "docs", tmp_path, "perfkit-store.7"], check=True, timeout=60)
    made = printed(tmp_path / "perfkit-store.7")
    assert made.count(" words") == len(begins), made
    assert not re.search(r"^\.(ini|b)", made, re.M) and "a_b *c words" in made and "\n-x\n" in made


@needs_scdoc
@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed here")
def test_man_pages_have_no_errors(installed):
    pages = sorted((installed / "share" / "man").rglob("perfkit*"))
    p = subprocess.run(["mandoc", "-T", "lint", "-W", "error", *pages], capture_output=True, text=True, timeout=60, check=False)
    assert len(pages) > 40 and (p.returncode, p.stdout) == (0, ""), p.stdout


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
    for path in ("README.md", "LICENSE", "docs/commands.md", "docs/ci/github.yml", "docs/examples/my-bench.c", "docs/measurements/gates.md"):
        assert (doc / path).read_bytes() == (SOURCES / path).read_bytes()
    assert not list(doc.rglob("meson.build")) and not (doc / "docs" / "man.py").exists()


def test_clients_are_where_compilers_and_peers_look(installed):
    client = SOURCES / "lib" / "client"
    for name in ("perfkit.h", "perfkit_cuda.h", "perfkit.py"):
        assert (installed / "share" / "perfkit" / "client" / name).read_bytes() == (client / name).read_bytes()
    assert (installed / "include" / "perfkit.h").exists() and list((installed / "share" / "perfkit" / "client").glob("perfkit_client-*.whl"))
    peers = installed / "share" / "perfkit" / "peers"
    found = subprocess.run([sys.executable, "-c", "import shared.wire; print(shared.wire.perfkit.__file__)"], cwd=peers, capture_output=True, text=True, timeout=60, check=False)
    assert pathlib.Path(found.stdout.strip()) == peers.parent / "client" / "perfkit.py", found


def test_help_says_where_the_pages_are(tmp_path):
    where = Perfkit(tmp_path)("help").stdout.rsplit("Documentation: ", 1)[1].split(",")[0].strip()
    assert (pathlib.Path(where) / "commands.md").exists(), where
