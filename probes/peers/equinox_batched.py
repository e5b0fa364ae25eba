#!/usr/bin/env python3
"""A peer of tree-patch: one call of equinox.tree_at for all modules."""
from shared.tree import Equinox, run

run("equinox-batched", Equinox(one_call=True))
