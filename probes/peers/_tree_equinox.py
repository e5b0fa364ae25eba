"""Equinox for the peers of tree-patch: every node an eqx.Module, replaced by eqx.tree_at."""
import inspect

from _tree_patch import CLASSES, Library, Skip, at


class Equinox(Library):
    name = "equinox"

    def __init__(self, one_call):
        self.one_call = one_call
        self.kinds = {}

    def load(self):
        if not self.kinds:
            try:
                import equinox
                import jax
            except ImportError:
                raise Skip("equinox is not installed for this Python; pip install equinox, or choose another with --python")
            self.eqx, self.jax = equinox, jax
            for kind, fields in CLASSES.items():
                self.kinds[kind] = type(kind, (equinox.Module,), {"__annotations__": dict.fromkeys(fields, object)})
            self.Parameter = type("Parameter", (equinox.Module,), {
                "__annotations__": {"value": object, "divided": object}, "divided": equinox.field(static=True, default=None)})
        return "%s, jax %s, %d passes a call" % (self.eqx.__version__, self.jax.__version__, self.passes())

    def passes(self):
        """Rebuilds of the whole tree in one call of this version."""
        source = inspect.getsource(self.eqx.tree_at)
        return source.count("jtu.tree_map(") - source.count("jtu.tree_map(_remove_leaf_wrapper")

    def module(self, kind, children):
        return self.kinds[kind](*children.values())

    def parameter(self, leaf, divided=None):
        return self.Parameter(leaf, divided)

    def replace(self, tree, paths, replacements):
        if self.one_call:
            return self.eqx.tree_at(lambda t: [at(t, path) for path in paths], tree, replacements)
        for path, replacement in zip(paths, replacements):
            tree = self.eqx.tree_at(lambda t, path=path: at(t, path), tree, replacement)
        return tree

    def leaves(self, tree):
        return self.jax.tree_util.tree_leaves(tree)
