#!/usr/bin/env python3
"""A peer of tree-patch: one optree.tree_map for all modules."""
from shared.tree import Optree, run

run("optree-batched", Optree(one_call=True))
