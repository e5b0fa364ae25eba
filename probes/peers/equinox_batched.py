#!/usr/bin/env python3
"""A peer of tree-patch: one call of equinox.tree_at for all modules."""
from _tree_equinox import Equinox
from _tree_patch import run

run("equinox-batched", Equinox(one_call=True))
