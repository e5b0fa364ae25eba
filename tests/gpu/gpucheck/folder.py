"""The folder that a call leaves, and the next one goes on from. Whole after a kill at any moment:

    perfkit.db       the store; perfkit writes it where it is, with SQLite's rollback journal beside it
    status.json      the state of every stage: replaced as one when a stage begins and when it ends
    log.txt          every command with what it printed
    report.md        for people: stages, claims, figures, tables of every run
    gpu-status.md    docs/gpu-status.md with these results: copied over it, they are recorded

and all of it in FOLDER.tar.gz beside it, once a call ends."""
import datetime
import json
import os
import tarfile

FILES_MOST, FILE_BYTES_MOST = 8, 16 << 20  # of the folder, its journal and the archive
LOG_BYTES_KEPT, COMMAND_BYTES_KEPT = 8 << 20, 1 << 19


def replace(path, data):
    """Whole or not at all, and on the disk before the old one is gone."""
    part = path.with_name(".%s.part" % path.name)
    try:
        with open(part, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read_status(path):
    return json.loads(path.read_text()) if path.exists() else {}


class Folder:
    def __init__(self, path, subject):
        self.path, self.subject = path, subject
        self.db, self.log, self.archive = path / "perfkit.db", path / "log.txt", path.with_name(path.name + ".tar.gz")
        self.status_file = path / "status.json"
        self.status = read_status(self.status_file)

    def begin(self):
        self.path.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES_KEPT:
            replace(self.log, self.log.read_bytes()[-LOG_BYTES_KEPT // 2:])

    @property
    def stages(self):
        return self.status.setdefault(self.subject, {}).setdefault("stages", {})

    @property
    def machine(self):
        """Facts of the machine that the last call ran on: gpu, memory_bytes, host."""
        return self.status.setdefault(self.subject, {}).setdefault("machine", {})

    def state(self, stage):
        return self.stages.get(stage, {}).get("state")

    def set(self, stage, state, said, **more):
        when = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.stages[stage] = {"state": state, "said": said, "when": when, **self.machine, **more}
        self.save()

    def save(self):
        replace(self.status_file, (json.dumps(self.status, indent=1, sort_keys=True) + "\n").encode())

    def append(self, command, output, status, seconds):
        kept = output if len(output) <= COMMAND_BYTES_KEPT else "[...]\n" + output[-COMMAND_BYTES_KEPT:]
        with open(self.log, "a", encoding="utf-8", errors="replace") as f:
            f.write("$ %s\n%s\nstatus %s, %.1f s\n\n" % (command, kept, status, seconds))

    def pack(self):
        part = self.archive.with_name(".%s.part" % self.archive.name)
        try:
            with tarfile.open(part, "w:gz") as tar:
                for f in sorted(self.path.iterdir()):
                    if f.is_file() and not f.name.startswith("."):
                        tar.add(f, arcname="%s/%s" % (self.path.name, f.name))
            os.replace(part, self.archive)
        finally:
            part.unlink(missing_ok=True)

    def too_much(self):
        """What would not come back from a machine that returns few files of limited size: the archive has all of it."""
        files = [f for f in self.path.iterdir() if f.is_file()] + [f for f in [self.archive] if f.exists()]
        wrong = ["%s has %.1f MiB" % (f.name, f.stat().st_size / (1 << 20)) for f in files if f.stat().st_size > FILE_BYTES_MOST]
        return wrong + (["%d files" % len(files)] if len(files) > FILES_MOST else [])
