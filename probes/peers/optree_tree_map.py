#!/usr/bin/env python3
"""A peer of tree-patch: one optree.tree_map for each module."""
from shared.tree import Optree, run

run("optree-tree-map", Optree(one_call=False))
