"""What a person reads when a call has ended: report.md, and gpu-status.md with the results filled in."""
import re
import time

from . import figures
from .folder import FILE_BYTES_MOST, replace
from .session import HERE, reason_in
from .stages import STAGES, TEST_CLAIMS

CLAIM = re.compile(r"^\| `([a-z0-9-]+)` \| (.*) \| (.*) \| (.*) \|$", re.M)
TO_SHOW_SECONDS = 4  # kept back for the archive


def status_page():
    """The page with the claims: beside check.py in a bundle, else in docs/."""
    beside = HERE / "gpu-status.md"
    return (beside if beside.exists() else HERE.parents[1] / "docs" / "gpu-status.md").read_text(encoding="utf-8")


def claims_in(page):
    """{id: claim}, in the page's order."""
    return {m.group(1): m.group(2) for m in CLAIM.finditer(page)}


def number(value):
    return "%d" % value if value == int(value) and abs(value) < 1e6 else "%.3g" % value


def bound_text(row):
    return "%s %s" % (row["bound"][0], number(row["bound"][1])) if row["bound"] else ""


def measured_text(row):
    return "%s %s%s" % (row["what"], number(row["value"]), " " + row["unit"] if row["unit"] else "")


def table(headings, rows):
    lines = ["| %s |" % " | ".join(headings), "|%s" % ("---|" * len(headings))]
    return "\n".join(lines + ["| %s |" % " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]) + "\n"


def thresholds():
    """Claims that only a figure can show, not the mere end of a stage."""
    return {f.claim for s in STAGES for f in getattr(s.work, "read", ()) if f.claim} | {c for c, _, _ in TEST_CLAIMS} | {
        "gpu-tests", "tf32-products", "layer-bandwidth", "nccl-two-refused", "bundle", "profilers"}


def verdict(claim, stages):
    """(verdict, stages that it rests on, figures) of a claim by the recorded stages, {name: row}."""
    of = {s.name: stages[s.name] for s in STAGES if claim in s.claims.split() and s.name in stages}
    rows = [f for s in stages.values() for f in s.get("figures", []) if f["claim"] == claim]
    states = {r["state"] for r in of.values()}
    if "failed" in states or any(r["holds"] is False for r in rows):
        return "failed", of, rows
    if states & {"partial", "running"}:
        return "partial", of, rows
    if claim in thresholds() and not rows:
        return ("not measured" if "passed" in states else "not run"), of, rows
    return ("passed" if rows or "passed" in states else "not run"), of, rows


def claim_rows(page, stages):
    for claim in claims_in(page):
        word, of, rows = verdict(claim, stages)
        why = "; ".join("%s %s" % (name, r["state"]) for name, r in of.items()) or "no stage"
        for r in rows or [None]:
            yield (claim, bound_text(r) if r else "", measured_text(r) if r else why,
                   word if r is None or r["holds"] is None else "holds" if r["holds"] else "does not hold")


def recorded(page, stages):
    """The page with its last column filled in for every claim that these stages decide."""
    def fill(m):
        word, of, rows = verdict(m.group(1), stages)
        done = [r for r in of.values() if r["state"] in ("passed", "failed")]
        if word not in ("passed", "failed") or not done:
            return m.group(0)
        last = max(done, key=lambda r: r["when"])
        shown = ["%s%s" % (measured_text(r), " (%s)" % bound_text(r) if r["bound"] else "") for r in rows]
        text = "%s %s, %s, `gpu/check.py %s`" % (word, last["when"][:10], last.get("gpu") or "GPU unknown", " ".join(of))
        return "| `%s` | %s | %s | %s |" % (m.group(1), m.group(2), m.group(3), ": ".join([text, *(["; ".join(shown)] if shown else [])]))
    return CLAIM.sub(fill, page)


def shown(session):
    """The newest run of every stage, as perfkit prints it, while there is time."""
    for name in (s.name for s in STAGES):
        for run, in session.query("SELECT max(run_id) FROM v_run WHERE label = ?", session.label(name)):
            if run is None or time.monotonic() > session.over - TO_SHOW_SECONDS:
                continue
            rc, text = session.run(session.perfkit, "show", str(run), "--format", "markdown", "--width", "0", "--quiet", apart=True)
            yield "\n## Run %d: %s\n\n%s" % (run, name, text if rc == 0 else "cannot be shown: " + reason_in(text))


def write(session, with_runs=True):
    folder, page = session.folder, status_page()
    stages, gpu = folder.stages, folder.machine.get("gpu")
    session.deadline = session.over - TO_SHOW_SECONDS / 2
    parts = ["# perfkit on %s\n\n" % " ".join([gpu or "", session.subject]).strip(),
             table(("stage", "state", "seconds", "result"), ((s.name, r["state"], r.get("seconds", ""), r["said"])
                                                             for s in STAGES for r in [stages.get(s.name)] if r)),
             "\n## Claims of docs/gpu-status.md\n\n", table(("claim", "threshold", "measured", "verdict"), claim_rows(page, stages)),
             "\n## Figures\n\nExpected values were not measured with perfkit; the source says where each is from.\n\n",
             table(("stage", "measured", "expected", "source"), ((s.name, measured_text(f), *figures.expected(gpu, f["what"]))
                                                                 for s in STAGES for f in stages.get(s.name, {}).get("figures", [])))]
    parts += shown(session) if with_runs and folder.db.exists() else []
    replace(folder.path / "report.md", "".join(parts).encode()[:FILE_BYTES_MOST])
    if session.cuda and not session.quick:
        replace(folder.path / "gpu-status.md", recorded(page, stages).encode())
