#!/usr/bin/env python3
"""Checks and measures perfkit on a GPU, in stages: `gpu/check.py` of a bundle, or `./bootstrap gpu-check`.

Needs Python alone, no packages and no network. A stage that fails stops no other. Everything is written into one folder (--out), sound
after a kill at any moment, and packed beside it. The next call goes on: a stage that passed is left alone unless it is named, one that was cut
short is resumed, one that failed is run again. Status: 0 when no stage failed and none is left, 1 otherwise, 77 without the device."""
import argparse
import signal
import sys
import time

sys.dont_write_bytecode = True  # a bundle may lie where nothing can be written

from gpucheck import report
from gpucheck.session import LEAST_SECONDS, Failed, Partial, Session, Skip
from gpucheck.stages import NAMES, STAGES

ROUNDS = 3  # of a call that names no stage: what was cut short is resumed
LEAST_STAGE_SECONDS = 60


def say(text):
    print("gpu-check: " + text, flush=True)


def listing():
    total = 0
    print("stage               seconds  minutes so far  what it proves")
    for s in STAGES:
        total += s.seconds
        print("%-18s %8d %15.0f  %s" % (s.name, s.seconds, total / 60, s.proves))
    print("\nSeconds are estimates for one H100; no GPU has run this yet.")


def run_stage(session, stage, again):
    """Runs one and records what came of it. Returns its state."""
    began, ending, figures = time.monotonic(), None, []
    session.goes_on = again or session.folder.state(stage.name) in ("running", "partial")
    session.allow(max(LEAST_STAGE_SECONDS, 3 * stage.seconds))
    session.folder.set(stage.name, "running", "the call ended before it did")
    try:
        if not session.can_run(stage):
            raise Skip("it needs a GPU, and the device is %s" % session.device)
        result = stage.work(session, stage)
        state, said, figures = "passed", result.said, result.figures
    except (Skip, Failed, Partial) as e:
        state, said, figures = {Skip: "skipped", Failed: "failed", Partial: "partial"}[type(e)], str(e), getattr(e, "figures", [])
    except (KeyboardInterrupt, SystemExit) as e:
        state, said, ending = "partial", "it was interrupted", e
    except Exception as e:  # a stage's own bug is its failure, not that of those after it
        state, said = "failed", "%s: %s" % (type(e).__name__, e)
    session.folder.set(stage.name, state, said, seconds=round(time.monotonic() - began, 1), figures=figures)
    if ending:
        raise ending
    say("%s %s: %s" % (stage.name, state, said))
    return state


def run_stages(session, pending, rounds):
    for again in range(rounds):
        pending = [s for s in pending if again == 0 or session.folder.state(s.name) == "partial"]
        for stage in pending:
            if session.has_time_for(stage.least) or not session.can_run(stage):
                run_stage(session, stage, again > 0)
            elif again == 0:
                session.folder.set(stage.name, "partial", "left out: not enough was left of --within")
                say("%s partial: left out, not enough is left of --within" % stage.name)


def finish(session, with_runs=True):
    try:
        report.write(session, with_runs)
    except Exception as e:  # the archive has what was measured all the same
        say("no report: %s: %s" % (type(e).__name__, e))
    session.folder.pack()
    for text in session.folder.too_much():
        say("%s: more than a machine may return; %s has all of it" % (text, session.folder.archive.name))
    say("report: %s, archive: %s" % (session.folder.path / "report.md", session.folder.archive))
    print("\n".join(report.summary(session.folder.stages)), flush=True)  # last: of a long output often only the end comes back


def arguments():
    p = argparse.ArgumentParser(prog="gpu-check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stages", nargs="*", metavar="STAGE", help="only these, even if they passed (--list)")
    p.add_argument("--list", action="store_true", help="print the stages, what each proves and how long it takes")
    p.add_argument("--within", type=float, metavar="SECONDS", help="end after so long; what is left out is partial, and the next call goes on")
    p.add_argument("--out", default="gpu-check", metavar="DIR", help="where files go, and where an earlier call left its own")
    p.add_argument("--device", default="cuda", help="cuda, cuda:1; cpu tries the check itself")
    p.add_argument("--quick", action="store_true", help="tiny shapes and no peers, to try the check itself")
    p.add_argument("--perfkit", help="the program; default: of the bundle or the tree that this file is in")
    p.add_argument("--tests", help="folder of the programs test-gpu-*; default likewise")
    args = p.parse_args()
    unknown = [s for s in args.stages if s not in NAMES]
    if unknown:
        p.error("there is no stage '%s'; the stages are %s" % (unknown[0], ", ".join(NAMES)))
    if args.within is not None and not LEAST_SECONDS * 2 <= args.within < float("inf"):
        p.error("--within %g: at least %d seconds" % (args.within, LEAST_SECONDS * 2))
    return args


def main():
    args = arguments()
    if args.list:
        listing()
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a stage's command ends with us, and what it has is recorded
    session = Session(args)
    if not session.perfkit.is_file():
        sys.exit("gpu-check: there is no %s\n  why: perfkit is not built\n  try: ./bootstrap build" % session.perfkit)
    wanted = [s for s in STAGES if s.name in args.stages or not args.stages]
    why = session.unavailable()
    if why:
        for s in wanted:
            say("%s skipped: device %s: %s" % (s.name, args.device, why))
        return 77
    session.folder.begin()
    session.keep_driver()
    session.facts()
    done = [s for s in wanted if not args.stages and session.folder.state(s.name) == "passed"]
    for s in done:
        say("%s has passed before" % s.name)
    pending = sorted((s for s in wanted if s not in done), key=lambda s: session.folder.state(s.name) == "failed")  # what failed: last
    try:
        run_stages(session, pending, 1 if args.stages else ROUNDS)
    except (KeyboardInterrupt, SystemExit):
        finish(session, with_runs=False)
        raise
    finish(session)
    return int(any(session.folder.state(s.name) in ("failed", "partial") for s in wanted))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as e:
        sys.exit("gpu-check: %s\n  why: the folder or the archive beside it cannot be written\n  try: --out with a folder of yours and free space" % e)
