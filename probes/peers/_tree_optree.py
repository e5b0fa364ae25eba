"""OpTree for the peers of tree-patch: nodes registered with optree, replaced by optree.tree_map with a predicate."""
from _tree_patch import CLASSES, Library, Skip, at

NAMESPACE = "perfkit"


class Parameter:
    def __init__(self, value, divided=None):
        self.value, self.divided = value, divided


class Optree(Library):
    name = "optree"

    def __init__(self, one_call):
        self.one_call = one_call
        self.kinds = {}

    def load(self):
        if not self.kinds:
            try:
                import optree
            except ImportError:
                raise Skip("optree is not installed for this Python; pip install optree, or choose another with --python")
            self.optree = optree
            for kind, fields in CLASSES.items():
                self.kinds[kind] = self.register(kind, fields)
            optree.register_pytree_node(Parameter, lambda p: ((p.value,), p.divided), lambda divided, c: Parameter(c[0], divided),
                                        namespace=NAMESPACE)
        return self.optree.__version__

    def register(self, kind, fields):
        cls = type(kind, (), {"__slots__": fields})

        def flatten(node):
            return tuple(getattr(node, f) for f in fields), None, fields

        def unflatten(_, children):
            node = cls()
            for f, child in zip(fields, children):
                setattr(node, f, child)
            return node

        self.optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)
        return cls

    def module(self, kind, children):
        node = self.kinds[kind]()
        for f, child in children.items():
            setattr(node, f, child)
        return node

    def parameter(self, leaf, divided=None):
        return Parameter(leaf, divided)

    def exchange(self, tree, new):
        """One traversal: nodes whose id is in `new` are exchanged."""
        return self.optree.tree_map(lambda x: new.get(id(x), x), tree, is_leaf=lambda x: id(x) in new, namespace=NAMESPACE)

    def replace(self, tree, paths, replacements):
        if self.one_call:
            return self.exchange(tree, {id(at(tree, path)): r for path, r in zip(paths, replacements)})
        for path, replacement in zip(paths, replacements):
            tree = self.exchange(tree, {id(at(tree, path)): replacement})
        return tree

    def leaves(self, tree):
        return self.optree.tree_leaves(tree, namespace=NAMESPACE)
