"""How often a gate is wrong: real gates over programs that report made-up samples, on machines of nine kinds of noise.

    audit.py [PERFKIT] [--gates N] [--seed N] [--jobs N] [--only equal,slowed,modes,missing] [--noise TEXT]

A program is a shell script: its t-th process, over both sides, reports what was drawn for it beforehand. Nothing is timed, so the load of
the machine changes nothing, and one seed gives the same tables again. Four tables, in markdown, each share with its exact 95 % bounds
(Clopper and Pearson):

  equal    both sides draw from the same distribution: gates of one row and of 20 rows that end red
  slowed   four of 20 rows take 2, 3, 5 and 10 % longer on the new side: rows found
  modes    the new side alone takes twice as long in some of its processes: verdicts of that row, in gates that may end early and in gates
           that measure all of their pairs
  missing  the new side lacks a case, a metric, or the half of them: exit statuses

Exit status 1 when a promise is broken: the bounds of a share exclude what is promised of it, or a thing that may never be was seen once.
With the default of 300 gates a line it takes about 15 minutes on two idle cores."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).parents[2]
CENTRE_NS = 1e9
DEFAULT_PAIRS = 20
SAY = """#!/bin/sh
read -r t < turn
echo $((t + 1)) > turn
echo $1 >> order
. ./$1/$t >&$PERFKIT_WIRE_FD
"""  # a report is a command of the shell's own: no other program is started

# --- noise: the logarithms of a row's figures, one for each process, in the order in which they run -------------------------------------


def normal(r, n, cv=0.01):
    return [r.gauss(0, cv) for _ in range(n)]


def mixed(r, n):
    return normal(r, n, min(0.03, max(0.003, 0.01 * math.exp(0.6 * r.gauss(0, 1)))))


def remembering(r, n, memory=0.6, cv=0.01):
    """AR(1): the correlation of neighbouring processes is `memory`, the standard deviation cv."""
    x = [r.gauss(0, cv)]
    while len(x) < n:
        x.append(memory * x[-1] + math.sqrt(1 - memory * memory) * r.gauss(0, cv))
    return x


def drifting(r, n):
    return [x + y for x, y in zip(normal(r, n), remembering(r, n, 0.9))]


def disturbed(r, n):
    return [x + (r.expovariate(1 / 0.15) if r.random() < 0.1 else 0) for x in normal(r, n)]


def bimodal(r, n):
    return [x + (math.log(1.15) if r.random() < 0.3 else 0) for x in normal(r, n)]


def student5(r, n):
    """Variance 1 %, as the others."""
    return [0.01 * math.sqrt(3 / 5) * r.gauss(0, 1) / math.sqrt(r.gammavariate(2.5, 2) / 5) for _ in range(n)]


def exponential(r, n):
    return [r.expovariate(1 / 0.03) for _ in range(n)]


PROFILES = {
    "normal, 1 %": normal,
    "normal, 0.3 to 3 % (log-normal over the rows)": mixed,
    "normal 1 % and a drift of 1 % (AR(1), 0.9)": drifting,
    "1 %, neighbours correlated 0.6": remembering,
    "normal 1 %, 10 % of processes + Exp(15 %)": disturbed,
    "normal 1 %, 30 % of processes + 15 %": bimodal,
    "Student's t with 5 degrees of freedom, 1 %": student5,
    "exponential tail of 3 %": exponential,
}

# --- one gate ---------------------------------------------------------------------------------------------------------------------------

# judged: (t, side) of each process, without cold ones; junit: whether a CI server that reads the file sees it red
Gate = collections.namedtuple("Gate", "status verdicts pairs judged junit")


def message(metrics, case=None):
    """What a process reports of one case: nanoseconds by metric."""
    axes = f'{{"type":"case","axes":{{"i":{case}}}}}\n' if case is not None else ""
    return axes + "".join(f'{{"type":"metric","name":"{name}","unit":"ns","direction":"lower"}}\n'
                          f'{{"type":"samples","metric":"{name}","values":[{value}]}}\n' for name, value in metrics.items())


def nanoseconds(x):
    return round(CENTRE_NS * math.exp(x))


def processes(pairs):
    """More than a gate of so many pairs can start: both sides, as many again for disturbed pairs, and cold ones."""
    return 4 * pairs + 8


def write_program(folder, reports):
    """reports: {"a": [what process t reports if it is of that side], "b": ...}. Both sides count their processes together."""
    (folder / "say").write_text(SAY)
    (folder / "say").chmod(0o755)
    (folder / "turn").write_text("0\n")
    for side, texts in reports.items():
        (folder / side).mkdir()
        for t, text in enumerate(texts):
            (folder / side / str(t)).write_text(f"printf %s '{text}'\n")


def gate(perfkit, reports, seed, args=()):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        at = pathlib.Path(folder)
        write_program(at, reports)
        env = {"PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8", "PERFKIT_DB": f"{folder}/perfkit.db"}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        p = subprocess.run([perfkit, "gate", "--a", "./say a", "--b", "./say b", "--seed", str(seed), "--no-save", "--format", "json",
                            "--junit", "junit.xml", *args],
                           cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=600)
        if p.returncode not in (0, 3, 4, 5, 6):
            raise RuntimeError(f"a gate ended with {p.returncode}: {p.stderr}")
        tables = json.loads(p.stdout)["tables"] if p.stdout else {}
        order = list(enumerate((at / "order").read_text().split()))
        suites = xml.etree.ElementTree.parse(at / "junit.xml").getroot()
    verdicts = {r["metric"]: r["verdict"] for t in tables if t.startswith("compare") for r in tables[t]["rows"] if r["row"] == "case"}
    pairs = tables["gate"]["rows"][0]["pairs"] if "gate" in tables else len(order) // 2
    return Gate(p.returncode, verdicts, pairs, order[len(order) - 2 * pairs:],
                any(e.tag in ("failure", "error") for e in suites.iter()))


def reports_of(logs):
    """logs: {side: one list for each row}. One case, whose metrics are the rows."""
    return {side: [message({row_name(i): nanoseconds(x) for i, x in enumerate(figures)}) for figures in zip(*rows)]
            for side, rows in logs.items()}


def row_name(i):
    return f"row{i:02}_ns"


def drawn(profile, rows, seed, factors=()):
    """Rows with this noise; on the new side the first take factors[i] times as long."""
    r = random.Random(seed)
    base = [PROFILES[profile](r, processes(DEFAULT_PAIRS)) for _ in range(rows)]
    return reports_of({"a": base, "b": [[x + math.log(f) for x in row] for f, row in zip(factors, base)] + base[len(factors):]})


# --- shares -----------------------------------------------------------------------------------------------------------------------------


def tail(k, n, p):
    """P(B <= k), B binomial(n, p)."""
    return sum(math.exp(math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p))
               for i in range(k + 1))


def bounds(k, n, risk=0.05):
    """Clopper and Pearson's interval of a share: each tail has half of the risk."""
    def solve(f):  # f falls
        lo, hi = 0.0, 1.0
        for _ in range(50):
            p = (lo + hi) / 2
            lo, hi = (p, hi) if f(p) > 0 else (lo, p)
        return lo
    return (0.0 if k == 0 else solve(lambda p: risk / 2 - (1 - tail(k - 1, n, p))),
            1.0 if k == n else solve(lambda p: tail(k, n, p) - risk / 2))


def share(k, n):
    low, high = bounds(k, n)
    return f"{k / n:.1%} ({low:.1%} to {high:.1%})".replace("%", " %")


class Report:
    """Tables on stdout, and the promises that they break."""

    def __init__(self):
        self.broken = []

    def table(self, title, *headings):
        print(f"\n### {title}\n\n| {' | '.join(headings)} |\n|{'---|' * len(headings)}", flush=True)

    def row(self, *cells):
        print(f"| {' | '.join(map(str, cells))} |", flush=True)

    def at_most(self, what, promise, k, n):
        if bounds(k, n)[0] > promise:
            self.broken.append(f"{what}: {k} of {n}, promised at most {promise:.0%}")

    def at_least(self, what, promise, k, n):
        if bounds(k, n)[1] < promise:
            self.broken.append(f"{what}: {k} of {n}, promised at least {promise:.0%}")

    def never(self, what, k, n):
        if k:
            self.broken.append(f"{what}: {k} of {n}, promised never")


# --- the four tables --------------------------------------------------------------------------------------------------------------------


def red(gates):
    return sum(g.status == 3 for g in gates)


def statuses(gates):
    found = [g.status for g in gates]
    return ", ".join(f"{s} ({found.count(s)})" for s in sorted(set(found)))


def per_cent(verdicts, *words):
    return " / ".join(f"{100 * sum(v == w for v in verdicts) / len(verdicts):.1f}" for w in words)


def mean_pairs(gates):
    return f"{sum(g.pairs for g in gates) / len(gates):.1f}"


def equal(many, report, n):
    report.table("Equal sides", "noise", "gates of one row: red", "ended with 4", "gates of 20 rows: red", "rows: same / undecided / unstable, %",
                 "pairs")
    for profile in many.profiles:
        small, large = (many(n, lambda s, rows=rows: (drawn(profile, rows, s),)) for rows in (1, 20))
        unjudged = sum(g.status == 4 for g in small)
        report.row(profile, share(red(small), n), share(unjudged, n), share(red(large), n),
                   per_cent([v for g in large for v in g.verdicts.values()], "same", "undecided", "unstable"), mean_pairs(large))
        report.at_most(f"equal sides, {profile}, one row: red gates", 0.01, red(small), n)
        report.at_most(f"equal sides, {profile}, 20 rows: red gates", 0.01, red(large), n)
        report.at_most(f"equal sides, {profile}, one row: gates that ended with 4", 0.15, unjudged, n)


def slowed(many, report, n):
    n, factors = max(1, n // 3), (1.02, 1.03, 1.05, 1.1)
    report.table("Slowed rows: found", "noise", *(f"+ {x - 1:.0%}".replace("%", " %") for x in factors), "equal rows called slower")
    for profile in many.profiles:
        gates = many(n, lambda s: (drawn(profile, 20, s, factors),))
        found = [sum(g.verdicts[row_name(i)].startswith("slower") for g in gates) for i in range(len(factors))]
        wrong = sum(v.startswith("slower") for g in gates for m, v in g.verdicts.items() if m >= row_name(len(factors)))
        report.row(profile, *(share(k, n) for k in found), f"{wrong} of {(20 - len(factors)) * n}")
        if PROFILES[profile] is normal:
            report.at_least(f"{profile}: + 5 % found", 0.95, found[2], n)


def struck(part, pairs, whole, seed):
    """Reports in which row 0 of the new side is twice as slow in that part of its processes, and which processes they are. `whole`: row 1 is
    always suspected and never slower, so that the gate measures all of its pairs."""
    r, n = random.Random(seed), processes(pairs)
    slow = [r.random() < part for _ in range(n)]
    base = [normal(r, n)] + ([normal(r, n, 0.001)] if whole else [])
    new = [[x + math.log(2) * s for x, s in zip(base[0], slow)]] + [[x + math.log(1.015) for x in row] for row in base[1:]]
    return reports_of({"a": base, "b": new}), slow


PARTS = (0.1, 0.2, 0.3)


def modes(many, report, n):
    n = max(1, n // 3)
    report.table("The new side twice as slow in some of its processes", "slow processes", "--max-pairs", "pairs", "red", "same", "undecided",
                 "unstable", "same although seen")
    for part in PARTS:
        for pairs, whole in ((DEFAULT_PAIRS, False), (8, True), (DEFAULT_PAIRS, True), (60, True)):
            slow = []

            def inputs(seed):
                reports, of_these = struck(part, pairs, whole, seed)
                slow.append(of_these)
                return reports, ("--max-pairs", str(pairs))
            gates = many(n, inputs)
            verdicts = [g.verdicts[row_name(0)] for g in gates]
            seen = [any(side == "b" and of_these[t] for t, side in g.judged) for g, of_these in zip(gates, slow)]
            hidden = sum(s and v == "same" for s, v in zip(seen, verdicts))
            report.row(f"{part:.0%}".replace("%", " %"), f"{pairs}{', all' if whole else ''}", mean_pairs(gates), share(red(gates), n),
                       *(share(verdicts.count(w), n) for w in ("same", "undecided", "unstable")), f"{hidden} of {sum(seen)}")
            if pairs == DEFAULT_PAIRS:
                report.never(f"twice as slow in {part:.0%} of the new processes, seen and called same", hidden, sum(seen))
            if pairs == 60 and part == 0.2:
                report.at_least("twice as slow in 20 % of the new processes, 60 pairs: red", 0.95, red(gates), n)


def without(metric, cases):
    return {i: {m: v for m, v in metrics.items() if m != metric} for i, metrics in cases.items()}


NOTHING = "nothing (to compare with)"
# What a process of the new side reports of what the base would: {case: {metric: ns}}; t counts the processes of both sides.
MISSING = {
    NOTHING: lambda t, cases: cases,
    "a case": lambda t, cases: {i: m for i, m in cases.items() if i},
    "a metric": lambda t, cases: without("b_ns", cases),
    "a case, in half of the processes": lambda t, cases: {i: m for i, m in cases.items() if i or t // 2 % 2},
    "a metric, in half of the processes": lambda t, cases: cases if t // 2 % 2 else without("b_ns", cases),
    "a metric that has another name": lambda t, cases: {i: {m.replace("b_ns", "c_ns"): v for m, v in x.items()} for i, x in cases.items()},
    "everything": lambda t, cases: {},
    "everything, from the eleventh process on": lambda t, cases: cases if t < 10 else {},
}


def lacking(cut, seed):
    r, names, n = random.Random(seed), ("a_ns", "b_ns"), processes(DEFAULT_PAIRS)
    drawn_cases = [{i: {m: nanoseconds(r.gauss(0, 0.01)) for m in names} for i in range(3)} for _ in range(n)]
    text = lambda cases: "".join(message(metrics, i) for i, metrics in cases.items())
    return {"a": [text(x) for x in drawn_cases], "b": [text(cut(t, x)) for t, x in enumerate(drawn_cases)]}


def missing(many, report, n):
    n = max(1, n // 30)
    report.table("What the new side lacks", "missing", "gates", "exit statuses", "JUnit red", "exit statuses with --allow-missing")
    for name, cut in MISSING.items():
        gates = many(n, lambda s: (lacking(cut, s),))
        allowed = many(n, lambda s: (lacking(cut, s), ("--allow-missing",)))
        report.row(name, n, statuses(gates), f"{sum(g.junit for g in gates)} of {n}", statuses(allowed))
        if name == NOTHING:
            report.never(f"missing: {name}: not 0", sum(g.status != 0 or g.junit for g in gates + allowed), n)
        else:
            report.never(f"missing: {name}: not 5, or green in JUnit", sum(g.status != 5 or not g.junit for g in gates), n)


TABLES = {"equal": equal, "slowed": slowed, "modes": modes, "missing": missing}


class Many:
    """Measures gates side by side: many(n, inputs) makes n gates, each of inputs(seed): reports and arguments."""

    def __init__(self, perfkit, seed, pool, profiles):
        self.perfkit, self.seed, self.pool, self.profiles, self.line = perfkit, seed, pool, profiles, 0

    def __call__(self, n, inputs):
        self.line += 1
        seeds = [f"{self.seed} {self.line} {k}" for k in range(n)]
        futures = []
        for seed in seeds:
            reports, *args = inputs(seed)
            futures.append(self.pool.submit(gate, self.perfkit, reports, random.Random(seed).randrange(1, 2**31), *args))
        return [f.result() for f in futures]


def main(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("perfkit", nargs="?", default=str(ROOT / "build" / "perfkit"))
    p.add_argument("--gates", type=int, default=300, help="for each line of the first table; a third for the next two, a 30th for the last")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="gates at once")
    p.add_argument("--only", default=",".join(TABLES), help="tables, separated by commas")
    p.add_argument("--noise", default="", help="of equal and slowed only the lines that have this text: 'exponential'")
    o = p.parse_args(argv)
    profiles = [name for name in PROFILES if o.noise in name]
    if o.gates < 1 or o.jobs < 1 or not profiles or not set(o.only.split(",")) <= set(TABLES):
        p.error(f"--gates and --jobs are 1 or more, --only names some of {', '.join(TABLES)}, and --noise is part of a line's name")
    report = Report()
    print(f"seed {o.seed}, {o.gates} gates a line, {o.jobs} at once")
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for name in o.only.split(","):
            TABLES[name](Many(os.path.abspath(o.perfkit), f"{o.seed} {name}", pool, profiles), report, o.gates)
    print(f"\nPromises broken: {len(report.broken)}", *report.broken, sep="\n- " if report.broken else "")
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
