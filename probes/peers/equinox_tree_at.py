#!/usr/bin/env python3
"""A peer of tree-patch: one call of equinox.tree_at for each module, as the reports' loop."""
from _tree_equinox import Equinox
from _tree_patch import run

run("equinox-tree-at", Equinox(one_call=False))
