#!/usr/bin/env python3
"""A peer of tree-patch: one optree.tree_map for all modules."""
from _tree_optree import Optree
from _tree_patch import run

run("optree-batched", Optree(one_call=True))
