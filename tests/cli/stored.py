"""Stores in tests: made with known contents from the schema's own SQL, for tests of commands that only read; and queried."""
import contextlib
import functools
import json
import pathlib
import sqlite3
import statistics
import tempfile

SCHEMA = pathlib.Path(__file__).parents[2] / "schema"
APPLICATION_ID = 0x706B6974


def query(store, sql, *values):
    """The rows that a statement gives, which is committed. store: a Perfkit, whose own store is meant, or the path of one."""
    with contextlib.closing(sqlite3.connect(getattr(store, "db", store))) as db, db:
        return db.execute(sql, values).fetchall()


@functools.lru_cache(None)
def empty_store():
    """The bytes of a store without runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "empty.db"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA synchronous = OFF")
            migrations = sorted(SCHEMA.glob("[0-9]*.sql"))
            for migration in migrations:
                db.executescript(migration.read_text())
            db.executescript((SCHEMA / "views.sql").read_text())
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {int(migrations[-1].name[:4])}")
            db.commit()
        return path.read_bytes()


class Stored:
    """A store file; runs are added with the figures their invocations gave."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        if not self.path.exists():
            self.path.write_bytes(empty_store())
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA synchronous = OFF")

    def insert(self, table, **values):
        sql = f"INSERT INTO {table}({', '.join(values)}) VALUES({', '.join('?' * len(values))})"
        return self.db.execute(sql, list(values.values())).lastrowid

    def machine(self, facts):
        text = json.dumps(facts, sort_keys=True)
        row = self.db.execute("SELECT id FROM machine WHERE json = ?", [text]).fetchone()
        return row[0] if row else self.insert("machine", json=text)

    def metric(self, name):
        row = self.db.execute("SELECT id FROM metric WHERE name = ?", [name]).fetchone()
        time = name.endswith("_ns")
        return row[0] if row else self.insert(
            "metric", name=name, unit="ns" if time else "bytes", direction="lower", combine="median", ranks="max",
            source="region", **{"class": "time" if time else "memory"})

    def run(self, cases, label=None, machine=None, settings=None, experiment="demo", revision=1, device="cpu"):
        """cases: rows of (variant, axes, {metric: [figure of each invocation]}), or (variant, axes, status)."""
        run = self.insert(
            "run", uuid=f"{self.path}:{self.db.total_changes}", experiment=experiment, label=label, command_line="perfkit run demo",
            settings=json.dumps(settings or {}), tags="{}", machine_id=self.machine(machine or {"cpu": "x"}), version="0.1.0",
            started_ns=10**18, ended_ns=10**18 + 1, status="complete", host="h", boot_id="b", pid=1, pid_start_ticks=1)
        for ordinal, (variant, axes, measured) in enumerate(cases):
            text = json.dumps(axes, sort_keys=True)
            case = self.insert("run_case", run_id=run, ordinal=ordinal, experiment=experiment, revision=revision,
                               variant=variant, device=device, axes=text, identity=text)
            self.measured(case, measured)
        self.db.commit()
        return run

    def measured(self, case, measured):
        status = measured if isinstance(measured, str) else "ok"
        figures = {} if status != "ok" else measured
        slices = [self.insert("slice", case_id=case, invocation=i + 1, status=status, message="", started_ns=1, elapsed_ns=1,
                              notes="{}", **{"pass": "timing"})
                  for i in range(max([len(v) for v in figures.values()], default=1))]
        for name, values in figures.items():
            metric = self.metric(name)
            for slice_id, value in zip(slices, values):
                self.insert("slice_summary", slice_id=slice_id, metric_id=metric, n=15, figure=value, median=value)
            known = sorted(v for v in values if v is not None)
            exact = {"ci_low": known[0], "ci_high": known[-1], "ci_level": 1 - 0.5 ** (len(known) - 1)} if 6 <= len(known) <= 8 else {}
            self.insert("summary", case_id=case, metric_id=metric, n=15 * len(values), invocations=len(values),
                        median=statistics.median(known) if known else None, **exact)

    def noted(self, run, notes, invocations=10**6):
        """The slices of a run have these notes, up to this invocation."""
        self.db.execute("UPDATE slice SET notes = ? WHERE invocation <= ? AND case_id IN (SELECT id FROM run_case WHERE run_id = ?)",
                        [json.dumps(notes), invocations, run])
        self.db.commit()

    def traced(self, run, kernels, **more):
        """Every case of the run gets a trace of these (region, family, name, ns), of a GPU's kernels with their launch."""
        told = [{"region": r, "family": f, "name": n, "calls": 1, "time_ns": ns, **({"launch": launch[0]} if launch else {})} for r, f, n, ns, *launch in kernels]
        for case, in self.db.execute("SELECT id FROM run_case WHERE run_id = ?", [run]).fetchall():
            self.insert("slice", case_id=case, invocation=1, status="ok", message="", started_ns=1, elapsed_ns=1,
                        notes=json.dumps({"breakdown": {"kernels": told, **more}}), **{"pass": "trace"})
        self.db.commit()

    def watched(self, run, moments):
        """Every case of the run gets a counter pass with these moments."""
        for case, in self.db.execute("SELECT id FROM run_case WHERE run_id = ?", [run]).fetchall():
            self.insert("slice", case_id=case, invocation=1, status="ok", message="", started_ns=1, elapsed_ns=1, notes=json.dumps({"moments": moments}), **{"pass": "counter"})
        self.db.commit()

    def counted(self, run, counts):
        """Every case of the run, recorded with --counters, gets these (region, group, name, unit, value)."""
        for case, in self.db.execute("SELECT id FROM run_case WHERE run_id = ?", [run]).fetchall():
            for region, group, name, unit, value in counts:
                self.insert("counter", case_id=case, region=region, group_name=group, name=name, unit=unit, value=value, source="fake",
                            native="", quality="exact", modes="", note="")
        self.db.commit()
