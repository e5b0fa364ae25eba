"""What a person reads when a call has ended: report.md, and gpu-status.md with the results filled in."""
import re
import textwrap
import time

from . import figures
from .folder import FILE_BYTES_MOST, replace
from .session import HERE, reason_in
from .stages import STAGES

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


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def table(headings, rows):
    lines = ["| %s |" % " | ".join(headings), "|%s" % ("---|" * len(headings))]
    return "\n".join(lines + ["| %s |" % " | ".join(cell(str(c)) for c in row) for row in rows]) + "\n"


# Of a claim with several stages: what outweighs the others, first.
VERDICTS = ("failed", "partial", "passed", "not measured", "not run")


def stage_verdict(row, rows):
    """What one stage says of a claim: figures with thresholds decide where there are any. A stage that failed before it measured anything
    fails its claims; one that passed without a figure of a claim shows nothing of it."""
    held = [r["holds"] for r in rows if r["holds"] is not None]
    if held:
        return "passed" if all(held) else "failed"
    if row["state"] == "failed":
        return "not measured" if any(r["bound"] for r in row.get("figures", [])) else "failed"
    return {"partial": "partial", "running": "partial", "passed": "not measured"}.get(row["state"], "not run")


def of_check(stages):
    """The check's own claim: every stage ended, and how many measured something."""
    ended = [r for r in stages.values() if r["state"] in ("passed", "failed", "skipped")]
    return [figures.at_least("gpu-check", "stages ended, passed", sum(r["state"] == "passed" and n != "machine" for n, r in stages.items()))] if len(
        ended) == len(STAGES) else []


def verdict(claim, stages):
    """(verdict, stages that it rests on, figures) of a claim by the recorded stages, {name: row}."""
    rows = {s.name: [f for f in stages[s.name].get("figures", []) if f["claim"] == claim] for s in STAGES if s.name in stages}
    of = {s.name: stages[s.name] for s in STAGES if s.name in stages and (rows[s.name] or claim in s.claims.split())}
    if claim == "gpu-check" and "machine" in of:
        rows["machine"] = of_check(stages)
        if not rows["machine"]:
            return "partial", of, []
    words = {stage_verdict(r, rows[name]) for name, r in of.items()}
    return next((v for v in VERDICTS if v in words), "not run"), of, [f for name in of for f in rows[name]]


def claim_rows(page, stages):
    for claim in claims_in(page):
        word, of, rows = verdict(claim, stages)
        why = "; ".join("%s %s" % (name, r["state"]) for name, r in of.items()) or "no stage"
        for r in rows or [None]:
            yield (claim, bound_text(r) if r else "", measured_text(r) if r else why,
                   word if r is None or r["holds"] is None else "holds" if r["holds"] else "does not hold")


SUMMARY_WIDTHS = (22, 12, 14)  # claim, verdict, threshold
MEASURED_CHARACTERS = 66
REASON_CHARACTERS = 300


def summary(stages):
    """One aligned line a claim, for the end of the call: of its figures the one that decides; without any, why. Claims that were not run share
    lines, so that all of it fits the tail of an output."""
    lines, not_run = [("claim", "verdict", "threshold", "measured")], []
    for claim in claims_in(status_page()):
        word, of, rows = verdict(claim, stages)
        if word == "not run":
            not_run.append(claim)
            continue
        told = min(rows, key=lambda r: (r["holds"] is not False, r["bound"] is None), default=None)
        more = " (+%d)" % (len(rows) - 1) if len(rows) > 1 else ""
        lines.append((claim, word, bound_text(told) if told else "", measured_text(told) + more if told else reasons(of)))
    texts = ["%s %s %s %s" % (*(c.ljust(w) for c, w in zip(line, SUMMARY_WIDTHS)), line[3][:MEASURED_CHARACTERS]) for line in lines]
    return [t.rstrip() for t in texts] + textwrap.wrap("not run: " + " ".join(not_run), 110) * bool(not_run)


def reasons(of):
    return "; ".join("%s %s: %s" % (name, r["state"], r["said"][:REASON_CHARACTERS]) for name, r in of.items()).replace("\n", " ")


CELL_DATE = r"(?:passed|failed) \d{4}-\d\d-\d\d, "


def ran(stages):
    """Instead of that no GPU has run this: which stages did, when, on which."""
    done = [r for r in stages.values() if r["state"] in ("passed", "failed")]
    days = sorted({r["when"][:10] for r in done})
    gpus = sorted({r.get("gpu") or "GPU unknown" for r in done})
    counts = ", ".join("%d %s" % (n, s) for s in ("passed", "failed", "skipped", "partial") for n in [sum(r["state"] == s for r in stages.values())] if n)
    return "**Last run on a GPU: %s, %s; stages: %s.**" % (days[-1], ", ".join(gpus), counts) if done else None


def beside(before, gpu, text):
    """A cell with this result, beside those of other GPUs."""
    kept = [part for part in re.split(r"<br>", before) if re.match(CELL_DATE, part) and ", %s, `" % gpu not in part]
    return "<br>".join([*kept, text])


def recorded(page, stages):
    """The page with its last column filled in for every claim that these stages decide, and a sentence that says what ran."""
    def fill(m):
        word, of, rows = verdict(m.group(1), stages)
        done = [r for r in of.values() if r["state"] in ("passed", "failed")]
        if word not in ("passed", "failed") or not done:
            return m.group(0)
        last = max(done, key=lambda r: r["when"])
        gpu = last.get("gpu") or "GPU unknown"
        shown = ["%s%s%s" % (measured_text(r), " (%s)" % bound_text(r) if r["bound"] else "", ", does not hold" if r["holds"] is False else "") for r in rows]
        why = [cell(reasons({n: r for n, r in of.items() if r["state"] == "failed"}))] if word == "failed" and any(r["state"] == "failed" for r in done) else []
        text = "%s %s, %s, `gpu/check.py %s`" % (word, last["when"][:10], gpu, " ".join(of))
        return "| `%s` | %s | %s | %s |" % (m.group(1), m.group(2), m.group(3), beside(m.group(4), gpu, ": ".join([text, *(["; ".join([*shown, *why])] if shown or why else [])])))
    sentence = ran(stages)
    page = CLAIM.sub(fill, page)
    return re.sub(r"\*\*(?:No GPU has run this code yet\.|Last run on a GPU: [^*]*)\*\*", lambda _: sentence, page) if sentence else page


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
