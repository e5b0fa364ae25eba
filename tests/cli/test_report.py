"""`report`: what a page has, that it is whole and loads nothing, that what was recorded is data; its charts in Vega-Lite and in a browser."""
import base64
import collections
import hashlib
import html
import html.parser
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import urllib.parse
from xml.etree import ElementTree

import pytest
from conftest import Perfkit, not_sanitized
from stored import query

WRITER = os.environ["PK_STORE_WRITER"]
ROOT = pathlib.Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
# Where ./bootstrap keeps the package of PyPI from which the chart bundle is.
VEGA = next((p for p in (ROOT / "build" / "charts" / "bin" / "python", pathlib.Path(os.environ.get("PK_VEGA_PYTHON", "/nowhere"))) if p.exists()), None)
ATTENTION = ("run", "attention-scaling", "--device", "null", "-a", "d_model=16,64", "-a", "seq_len=256,1024,4096", "-v", "vanilla,flash", "--invocations", "3",
             "--max-samples", "40")
HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">&amp;<!--<script>"
VOID = {"meta", "br", "img", "link", "input", "hr", "col"}
OPTIONAL_END = {"td", "th", "tr", "li", "p"}


class Page(html.parser.HTMLParser):
    """The elements of a page, and the texts of those that count."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text = text
        self.elements, self.open, self.texts = [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL_END:
            self.open.pop()
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def block(self, name):
        """A block of JSON by its id."""
        at = [a.get("id") for a in self.all("script")].index(name)
        return json.loads(self.texts["script"][at])

    def scripts(self):
        return [t for a, t in zip(self.all("script"), self.texts["script"]) if a.get("type") != "application/json"]


def page_of(perfkit, *args, name="report.html", env=None):
    r = perfkit("report", *args, env=env)
    assert r.status == 0, r
    return Page((perfkit.cwd / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    one = Perfkit(tmp_path_factory.mktemp("report"))
    r = one(*ATTENTION, "--label", "first")
    assert r.status == 0, r
    return one


@pytest.fixture(scope="module")
def page(recorded):
    return page_of(recorded)


@pytest.fixture(scope="module")
def no_gnuplot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    (folder / "gnuplot").write_text("#!/bin/sh\nexit 1\n")
    (folder / "gnuplot").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def no_pictures(no_gnuplot, monkeypatch):
    """Where pictures are not the subject, gnuplot draws none of them for the page."""
    monkeypatch.setenv("PATH", no_gnuplot)


@not_sanitized
@pytest.mark.usefixtures("no_pictures")
def test_a_page_is_written_beside_the_caller(recorded):
    r = recorded("report")
    assert r.status == 0 and r.stdout == "" and "written to report.html" in r.stderr, r
    r = recorded("report", "first", "-o", "other.html")
    assert r.status == 0 and (recorded.cwd / "other.html").exists() and "written to other.html" in r.stderr, r
    assert recorded("report", "-q").stderr == ""


@not_sanitized
def test_a_page_says_what_show_says(recorded, page):
    shown = recorded("show", "--format", "json").json()["tables"]
    assert [t.strip() for t in page.texts["li"]][:len(shown["findings"]["rows"])] == [f["sentence"] for f in shown["findings"]["rows"]]
    assert page.open == [] and "attention-scaling" in page.texts["h2"][0]
    titles = " ".join(page.texts["summary"])
    for title in ("Variants against vanilla", "Attention scaling, flash", "Rows of this chart: Time over sequence length"):
        assert title in titles
    for heading in ("Tables", "Environment", "Methods", "Commands"):
        assert heading in page.texts["h3"]
    assert any("run attention-scaling" in t and "--label first" in t for t in page.texts["pre"])
    assert any("report" in t for t in page.texts["pre"])
    data = page.block("perfkit-data")
    run, = data["runs"]
    figures = [dict(zip(run["summary"]["columns"], row)) for row in run["summary"]["rows"]]
    stored = query(recorded, "SELECT case_id, metric, median FROM v_summary ORDER BY 1, 2")
    assert sorted((f["case_id"], f["metric"]) for f in figures) == [s[:2] for s in stored]
    assert [f["median"] for f in sorted(figures, key=lambda f: (f["case_id"], f["metric"]))] == pytest.approx([s[2] for s in stored])
    assert run["whole"] is True and len(run["cases"]["rows"]) == 12
    table = shown["variants"]["rows"]
    assert page.text.count("data-name=\"variants\"") == 1 and len(table) == 12


def test_a_page_loads_nothing_and_permits_nothing_else(page):
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "http" not in policy
    for text in page.scripts() + page.texts["style"]:
        assert "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    bundle = page.scripts()[:-1]
    rest = page.text
    for text in bundle:
        rest = rest.replace(text, "")
    assert not re.search(r"https?://|//[a-z]|url\(|@import", re.sub(r"/\*.*?\*/", "", rest, flags=re.S)), "an address in the page"
    for tag, attrs in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attrs), (tag, attrs)
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert attrs.get("src", "data:image/svg+xml,").startswith("data:image/svg+xml,") and ("src" in attrs) == (tag == "img")
        assert attrs.get("href", "#").startswith("#")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_a_page_can_be_read_without_charts(page):
    """Every chart has its rows as a table; scrolled regions take the keyboard's focus; cells have headings."""
    charts = page.block("perfkit-charts")
    places = [a for a in page.all("div") if "data-chart" in a]
    assert [int(a["data-chart"]) for a in places] == list(range(len(charts))) and len(charts) >= 4
    assert page.text.count("Rows of this chart: ") >= len(charts)
    assert all(a.get("tabindex") == "0" and a.get("role") == "region" and a.get("aria-label") for a in page.all("div") if a.get("class") == "scroll")
    assert all(a.get("scope") in ("col", "row") for a in page.all("th"))
    assert page.all("html")[0]["lang"] == "en" and page.all("title") != []
    missing = [a for a in page.all("p") if a.get("class") == "missing"]
    assert len(missing) == 1  # of the bundle, or, where it is built in, of JavaScript


def test_where_charts_are_missing_is_said(perfkit, page):
    """A build without the bundle says so in the page, with what helps."""
    if len(page.scripts()) == 2:
        assert "<noscript>" in page.text
        pytest.skip("this build has the chart bundle")
    assert "bootstrap" in page.text or "report_js=auto" in page.text
    pictures = page.all("img")
    if not shutil.which("gnuplot"):
        assert "This page has no charts" in page.text and pictures == []
        return
    assert "pictures by gnuplot" in page.text and len(pictures) == len(page.block("perfkit-charts"))
    for picture in pictures:
        svg = ElementTree.fromstring(urllib.parse.unquote(picture["src"].removeprefix("data:image/svg+xml,")))
        assert picture["alt"] in ElementTree.tostring(svg, "unicode", "text")


def contrast(a, b):
    def luminance(color):
        v = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        v = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in v]
        return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast(page):
    """WCAG AA: 4.5 for text on each ground, 3 for marks, light and dark."""
    blocks = re.findall(r":root \{([^}]*)\}", page.texts["style"][0])
    assert len(blocks) == 3  # light, dark, print
    for block in blocks:
        colors = {k: v if len(v) == 7 else "#" + "".join(2 * c for c in v[1:]) for k, v in re.findall(r"--(\w+): (#\w+)", block)}
        for ground in ("ground", "panel"):
            for ink in ("text", "soft", "link", "good", "bad", "doubt"):
                assert contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground, block)
        series = re.search(r"category: \[([^\]]*)\]", page.scripts()[-1]).group(1)
        for color in re.findall(r"#\w{6}", series):
            assert contrast(color, colors["ground"]) >= 3, (color, block)
    heat = re.findall(r"#\w{6}", " ".join(re.findall(r'"range": \[([^\]]*)\]', json.dumps(page.block("perfkit-charts")))))
    assert len(heat) >= 2 and all(contrast("#111111", color) >= 4.5 for color in heat), heat  # of the texts of a heat map, which are black


def test_hostile_texts_are_data(perfkit):
    """Of a label, a tag, a command and its output's metrics: no element of the page is theirs."""
    r = perfkit("exec", "--label", HOSTILE[:60], "--tag", f"note={HOSTILE}", "-r", "3", "--", "sh", "-c", f": '{HOSTILE}'")
    assert r.status == 0, r
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE run SET git_branch = ?, host = ?", (HOSTILE, HOSTILE))
        db.execute("UPDATE run_case SET variant = ?", ("\u202e\x1b[31m" + HOSTILE,))
        xml = (ROOT / "tests" / "machines" / "gpu-2s.xml").read_text(encoding="utf-8")
        db.execute("DELETE FROM topology")
        db.execute("INSERT INTO topology SELECT id, ? FROM machine", (xml.replace('type="Bridge"', f'type="{html.escape(HOSTILE)}" os_index="{HOSTILE}"'),))
        db.execute("INSERT INTO setting SELECT 1, 1, 'gpu', ?", (HOSTILE,))
    page = page_of(perfkit)
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE topology SET xml = substr(xml, 1, length(xml) / 2)")
    plain = page_of(perfkit, "--metric", "wall_ns")
    drawing = page.text[page.text.index('<div class="topology"'):page.text.index('<table class="facts">')]
    assert drawing.count("<p>L3 32 MiB</p>") == 2 and re.findall(r"<span>(.*?)</span>", drawing) == [f"{2 * i} {2 * i + 1}" for i in range(8)]
    assert "<p>Package 1</p>" in drawing and drawing.count("img src=x") == 1 and "topology" not in plain.text.split("<main>")[1].split("<script")[0]
    assert len(page.all("script")) == len(plain.all("script")) == 2 + len(page.scripts())
    assert all(a["src"].startswith("data:image/svg+xml,%3C%3Fxml") for a in page.all("img"))
    assert "\u202e" not in page.text and "\x1b" not in page.text
    assert "<img src=x" in page.texts["td"][0] + "".join(page.texts["td"])
    page.block("perfkit-data")
    page.block("perfkit-charts")


@not_sanitized
@pytest.mark.usefixtures("no_pictures")
def test_several_runs_are_compared(recorded):
    assert recorded(*ATTENTION, "--label", "second").status == 0
    page = page_of(recorded, "first", "second", "-o", "both.html", name="both.html")
    assert len(page.block("perfkit-data")["runs"]) == 2
    assert page.texts["h2"][0] == "2 compared with 1"
    assert re.fullmatch("2 compared with 1: 24 rows: ([0-9]+ [a-z]+(, )?)+", [t for a, t in zip(page.all("p"), page.texts["p"]) if a.get("class") == "outcome"][0])
    assert page.text.index('<p class="outcome">') < page.text.index('data-name="runs"')
    assert "data-name=\"compare_ns\"" in page.text and page.text.count("<section id=\"run-") == 2
    assert {a["href"] for a in page.all("a")} == {"#run-1", "#run-2"}


@not_sanitized
@pytest.mark.usefixtures("no_pictures")
def test_a_trend_is_in_the_order_of_time(perfkit):
    """Also where the newest cases are not those of the first run."""
    for busy in ("100,200", "100,200", "300,400", "300,400"):
        assert perfkit("run", "selftest", "-d", "null", "-v", "ok", "--busy-ns", busy, *QUICK).status == 0
    values = page_of(perfkit, *"1234").block("perfkit-charts")[0]["data"]["values"]
    assert [row["x"] for row in values] == list("11223344") and len({row["c"] for row in values}) == 4


def test_a_run_without_findings(perfkit):
    """Its first table is read while it is printed, and its charts stand above that."""
    assert perfkit("run", "selftest", "-d", "null", "-v", "ok", "--busy-ns", "100,200", *QUICK).status == 0
    page = page_of(perfkit)
    assert [described(spec) for spec in page.block("perfkit-charts")][0] == "Median of each time"
    assert page.text.index("<figure>") < page.text.index('data-name="outcomes"') and page.texts["h3"].count("Tables") == 1


@not_sanitized
@pytest.mark.usefixtures("no_pictures")
def test_runs_that_cannot_be_compared(perfkit):
    assert perfkit("exec", "-r", "3", "--", "true").status == 0
    assert perfkit("run", "selftest", "-d", "null", "-v", "ok", "--busy-ns", "100", *QUICK).status == 0
    page = page_of(perfkit, "1", "2")
    assert any(t.startswith("Not compared: ") for t in page.texts["p"])
    assert page.text.count("<section id=\"run-") == 2


@pytest.mark.usefixtures("no_pictures")
def test_many_runs(perfkit):
    """More than two are a trend, whatever their order; more than four do not all stand in full."""
    subprocess.run([WRITER, perfkit.db, "6", "2", "1", "1"], check=True, stdout=subprocess.DEVNULL, timeout=60)
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE run_case SET identity = axes")
        db.execute("UPDATE run SET started_ns = started_ns + id * 60000000000")
        db.execute("UPDATE slice_summary SET figure = figure * 2 WHERE slice_id IN (SELECT l.id FROM slice l JOIN run_case c ON c.id = case_id WHERE run_id = 6)")
    page = page_of(perfkit, *"162345")
    assert page.text.count("<section id=\"run-") == 4 and "Of 6 runs the first and the last 3 stand below in full." in page.text
    assert [a["href"] for a in page.all("a")] == ["#run-1", "#run-3", "#run-4", "#run-5"]
    rows = re.search(r'data-name="against_first">.*?</table>', page.text, re.S).group(0).split("<tr>")[2:]
    assert [[re.sub("<.*", "", cell) for cell in re.split("<td[^>]*>", row)[1:6]] for row in rows] == [
        [run, "", "forward_ns", "2", "2.000" if run == "6" else "1.000"] for run in "62345"]
    history = page.block("perfkit-charts")[0]["data"]["values"]
    assert [row["x"] for row in history if row["c"] == "plain n=0"] == list("123456")
    for spec in page.block("perfkit-charts"):  # a layer without values is a warning of Vega's
        fitted = any(row.get("fit") is not None for row in spec["data"]["values"])
        assert ("isValid(datum.fit)" in json.dumps(spec)) == fitted, spec


@not_sanitized
@pytest.mark.usefixtures("no_pictures")
def test_sizes_are_bounded(perfkit):
    """A thousand cases and 100,000 samples: tables and charts are cut, which is said."""
    subprocess.run([WRITER, perfkit.db, "1", "1000", "3", "34"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    page = page_of(perfkit)
    assert len(page.text) < 3e6
    assert "The first 500 of 1000 rows." in page.text
    for chart in page.block("perfkit-charts"):
        assert len(chart["data"]["values"]) <= 4000


@not_sanitized
def test_bad_input(perfkit):
    perfkit("report").refused(6, "there is no store")
    assert perfkit("exec", "-r", "3", "--", "true").status == 0
    perfkit("report", "nightly").refused(2, "nightly")
    perfkit("report", "-o", "none/report.html").refused(1, "none/report.html", "create its directory")
    perfkit("report", "-o", ".").refused(1, "directory")
    perfkit("report", "-o", "pages/").refused(2, "pages/")
    perfkit("report", "-o", "page.pdf").refused(2, "page.pdf", "HTML page", ".html")
    perfkit("report", "--threshold", "wall_ns").refused(2, "wall_ns")
    perfkit("report", "--format", "json").refused(2, "no --format json", "one page of HTML", "perfkit show RUN --format json")
    assert list(perfkit.cwd.glob("*.html")) == list(perfkit.cwd.glob("*.pdf")) == []


# --- charts of every experiment: as Vega-Lite compiles them, in a browser, and with characters ---

QUICK = ("--invocations", "3", "--min-samples", "3", "--max-samples", "10", "--min-time", "0s", "--max-time", "5ms")
MEASURED = {  # what has rows for every chart of its experiment, in a second or two each
    "attention-scaling": "-a d_model=16,64 -a seq_len=256,1024,4096 -v vanilla,flash --memory-limit 300MiB",
    "tree-patch": "-a layers=1,2 -a hidden=64 -a patches=1,2,0 -v naive,batched -a matcher=compiled -a op=patch",
    "mixed-precision": "-a mode=forward,step -a dtype=fp32,bf16 --breakdown --allocations --memory-limit 100MiB",
    "ddp-bucket": "-v none,naive,bucket -a bucket_bytes=65KB,1MB,16MB",
    "extraction": "-a codec=none,zstd-1 -v sequential,pipelined -a dtype=fp32 -a d_model=64 -a seq_len=16 --samples 9 --vocab 100 "
                  "--device cpu --threads 1",  # a null device compresses nothing
    "batch-scaling": "-v eager",
}
if "PERFKIT_SANITIZED" in os.environ:  # these two take ten times as long there as the others together, and are drawn by the same code
    del MEASURED["tree-patch"], MEASURED["extraction"]
GENERAL = {"gate_verdicts", "samples", "memory_over_time", "breakdown_shares", "roofline", "times"}


def titles_of(path):
    """Charts of a .sql file with their titles, in its order."""
    return dict(re.findall(r"^-- chart: (\w+)\n-- title: (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.M))


@pytest.fixture(scope="module")
def pages(tmp_path_factory, ceilings, no_gnuplot):
    """Two pages (one has at most four runs) with every experiment, and a gate."""
    one = Perfkit(tmp_path_factory.mktemp("charts"))
    shutil.copy(ceilings, one.db)
    for experiment, args in MEASURED.items():
        r = one("run", experiment, *([] if "cpu" in args else ["--device", "null"]), "--label", experiment, *args.split(), *QUICK)
        assert r.status == 0, r
    r = one("gate", "selftest", "-d", "null", "-v", "ok", "--a", "busy_ns=100000", "--b", "busy_ns=105000", "--max-pairs", "8", *QUICK[2:])
    assert r.status in (0, 3), r
    labels = list(MEASURED)
    return one, [page_of(one, *runs, "-o", name, name=name, env={"PATH": no_gnuplot}) for name, runs in (("a.html", labels[:4]), ("b.html", [*labels[4:], "@"]))]


def described(spec):
    return spec["description"]


def test_every_chart_has_rows(pages):
    """Each section with a chart is on the page of a run of its experiment."""
    one, written = pages
    found = [described(spec) for page in written for spec in page.block("perfkit-charts")]
    for experiment in MEASURED:
        for name, title in titles_of(f"probes/{experiment.replace('-', '_')}.sql").items():
            assert title in found, (experiment, name)
    general = {**titles_of("lib/report/report.sql"), **titles_of("lib/store/tables.sql")}
    assert set(general) == GENERAL
    assert {name for name, title in general.items() if title in found} == GENERAL
    for page in written:
        for spec, table in zip(page.block("perfkit-charts"), re.findall(r"Rows of this chart: .*?<tbody>(.*?)</tbody>", page.text, re.S)):
            n = table.count("<tr>")
            assert len(spec["data"]["values"]) == n or n == 500, described(spec)


def leaves(layers, transforms=()):
    """The layers of a drawing with all that their rows go through."""
    for layer in layers:
        through = [*transforms, *layer.get("transform", [])]
        yield from leaves(layer["layer"], through) if "layer" in layer else [(layer, through)]


def expected_marks(spec):
    """How many marks of each kind there must be: one per row that has the values which its layer asks for, or per series or band of them."""
    unit, values = spec.get("spec", spec), spec["data"]["values"]
    count = collections.Counter()
    for layer, through in leaves(unit["layer"]):
        kind = layer["mark"]["type"] if isinstance(layer["mark"], dict) else layer["mark"]
        conditions = re.findall(r"(!?)isValid\(datum\.(\w+)\)", " ".join(t.get("filter", "") for t in through))
        rows = [r for r in values if all((r.get(field) is None) == bool(no) for no, field in conditions)]
        groups = ("b", "f") if any("aggregate" in t for t in through) else ("y", "f") if "aggregate" in (layer["encoding"].get("x") or {}) else \
            ("c", "f") if kind in ("line", "area") else ()
        if "data" in layer:  # a guide, in each facet
            count[kind] += len({r.get("f") for r in values})
        else:
            count[kind] += len({tuple(r.get(g) for g in groups) for r in rows}) if groups else len(rows)
    return count


def marks_in(svg):
    roles = re.findall(r'aria-roledescription="(point|bar|(?:rect|rule|text|line|area) mark)"', svg)
    return collections.Counter(role.split()[0] for role in roles)


@not_sanitized
@pytest.mark.skipif(not VEGA, reason="vl-convert is not here: ./bootstrap charts fetches it into build/charts")
def test_every_chart_compiles(pages, tmp_path):
    """vl-convert makes an SVG of each, with the marks of its rows."""
    specs = [spec for page in pages[1] for spec in page.block("perfkit-charts")]
    (tmp_path / "specs.json").write_text(json.dumps(specs))
    code = ("import json, sys, vl_convert\n"
            "for s in json.load(open(sys.argv[1])): print(json.dumps(vl_convert.vegalite_to_svg(s)))")
    p = subprocess.run([VEGA, "-c", code, tmp_path / "specs.json"], capture_output=True, text=True, timeout=120, check=False)
    assert p.returncode == 0, p.stderr
    for spec, svg in zip(specs, map(json.loads, p.stdout.splitlines())):
        assert marks_in(svg) == expected_marks(spec), described(spec)


def dump(path, tmp_path):
    """The page after its scripts ran, in the smallest window that the browser opens."""
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", f"--user-data-dir={tmp_path / 'profile'}",
               "--window-size=500,800", "--enable-logging=stderr", "--dump-dom", f"file://{path}"]
    p = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert p.returncode == 0, p.stderr[-2000:]
    assert "Content Security Policy" not in p.stderr, p.stderr[-3000:]
    return p.stdout


@not_sanitized
@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("which", [0, 1])
def test_every_chart_is_drawn(pages, which, tmp_path):
    one, written = pages
    page = written[which]
    if len(page.scripts()) < 2:
        pytest.skip("this build is without the chart bundle: ./bootstrap charts")
    specs = page.block("perfkit-charts")
    drawn = dump(one.cwd / f"{'ab'[which]}.html", tmp_path)
    assert drawn.count('data-drawn="yes"') == len(specs) and 'data-drawn="no"' not in drawn
    figures = re.findall(r"<figure>.*?</figure>", drawn, re.S)
    for spec, figure in zip(specs, figures):
        assert marks_in(figure) == expected_marks(spec), described(spec)
    widths = [float(w) for w in re.findall(r'<svg[^>]* width="([0-9.]+)"', drawn)]
    wide = [(described(spec), w) for spec, w in zip(specs, widths, strict=True) if w > 500 - 24]
    assert not wide, wide  # none is cut, or made smaller to fit
    assert drawn.count("Copy as CSV</button>") == drawn.count("<table data-name=")


def test_every_experiment_is_drawn_with_characters(pages):
    one, _ = pages
    for experiment in MEASURED:
        r = one("show", experiment, "--tables", "findings", "--plot", "--width", "100")
        first, = list(titles_of(f"probes/{experiment.replace('-', '_')}.sql").values())[:1]
        drawing = r.stdout.split("\n" + first + "\n")
        assert r.status == 0 and len(drawing) == 2 and len(drawing[1].splitlines()) > 5, r
        assert max(map(len, drawing[1].splitlines())) <= 100, r


@not_sanitized
@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_nothing_hostile_runs(perfkit, tmp_path):
    assert perfkit("run", "attention-scaling", "-d", "null", "-a", "d_model=16", "-a", "seq_len=256,512", "--label", HOSTILE[:60]).status == 0
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE run_case SET variant = ? || variant", (HOSTILE,))
        db.execute("UPDATE run_case SET axes = json_set(axes, '$.dtype', ? || id)", (HOSTILE,))  # facets, names of cases
        db.execute("UPDATE slice SET status = 'failed', message = ? WHERE case_id = (SELECT max(id) FROM run_case)", (HOSTILE,))  # a note, a label
        db.execute("UPDATE run SET command_line = ?", (HOSTILE,))
    page = page_of(perfkit)
    hostile = [row for spec in page.block("perfkit-charts") for row in spec["data"]["values"] for text in row.values() if "<img src=x" in str(text)]
    assert len(hostile) > 20 and any("<img src=x" in t for a, t in zip(page.all("p"), page.texts["p"]) if a.get("class") == "note")
    drawn = re.sub(r"<script.*?</script>", "", dump(perfkit.cwd / "report.html", tmp_path), flags=re.S)
    assert "<title>perfkit report of run 1</title>" in drawn and "<img src=x" not in drawn and "&lt;img src=x" in drawn
