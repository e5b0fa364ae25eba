"""The wire for peers: perfkit's client for Python (lib/client/perfkit.py), found from the sources or beside the installed peers."""
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "client"), str(HERE.parents[3] / "lib" / "client")]

import perfkit  # noqa: E402
from perfkit import Refused, Skip, timed  # noqa: E402, F401


def imported(name, advice="install it,"):
    """The module of that name; without it the case is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Skip("%s is not installed for this Python; %s or choose another with --python" % (name, advice))


def axes_of(request, known, unused=()):
    """Every axis of `known` with the request's value or that of `known`. Axes in `unused` may be given too."""
    unknown = sorted(set(request["axes"]) - set(known) - set(unused))
    if unknown:
        raise Refused("this peer does not know the axis %s" % ", ".join(unknown))
    return {**known, **request["axes"]}


def serve(program, experiments):
    """Answers every request with experiments[experiment](wire, request); returning is ok, exceptions are the other outcomes."""
    def measure(wire, request):
        if request["experiment"] not in experiments:
            raise Refused("this peer measures %s, not %s" % (" and ".join(experiments), request["experiment"]))
        experiments[request["experiment"]](wire, request)

    perfkit.serve(program, {"measure": measure})
