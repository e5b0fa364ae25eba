#!/usr/bin/env python3
"""A peer of tree-patch: one optree.tree_map for each module."""
from _tree_optree import Optree
from _tree_patch import run

run("optree-tree-map", Optree(one_call=False))
