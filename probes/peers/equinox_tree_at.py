#!/usr/bin/env python3
"""A peer of tree-patch: one call of equinox.tree_at for each module, as the reports' loop."""
from shared.tree import Equinox, run

run("equinox-tree-at", Equinox(one_call=False))
