"""What the peers of the experiment tree-patch share: BERT's parameter tree, the reports' plan, matching, and the order of timing.

A Library, Equinox or OpTree, says how nodes are made, and how modules are replaced in a tree. Structure alone: leaves are small objects."""
import fnmatch
import inspect
import math
import re
import time

from shared.wire import Refused, Skip, axes_of, imported, serve, timed

KNOWN = {"tree": "bert", "model": "4L-768H", "layers": 4, "hidden": 768, "intermediate": 3072, "vocab": 30522, "op": "patch",
         "plan": "reports", "patches": 0, "matcher": "compiled", "weights": "none"}
PLAN = [("*.intermediate.dense", "column"), ("*.output.dense", "row"), ("*.attention.self.query", "column"),
        ("*.attention.self.key", "column"), ("*.attention.self.value", "column"), ("*.attention.output.dense", "row")]


class Leaf:
    """An array without its numbers."""

    def __init__(self, *shape):
        self.shape = shape


class Library:
    """What a peer adds: nodes and replacing."""

    name = ""  # for settings: "equinox"

    def __init__(self, one_call):
        self.one_call = one_call  # for all modules, or one for each
        self.kinds = {}           # node classes, by name

    def load(self):
        """Imports the library; Skip when it is not there. Returns its version."""
        raise NotImplementedError

    def module(self, kind, children):
        """A node of class `kind` with `children` (dict name -> node)."""
        raise NotImplementedError

    def parameter(self, leaf, divided=None):
        """A node around one leaf; `divided` is the dimension that is shared among devices."""
        raise NotImplementedError

    def replace(self, tree, paths, replacements):
        """A new tree in which the module at paths[i] is replacements[i]. This is timed."""
        raise NotImplementedError

    def leaves(self, tree):
        """The leaves, in order."""
        raise NotImplementedError


CLASSES = {
    "Linear": ("weight", "bias"), "LayerNorm": ("weight", "bias"), "Embedding": ("weight",), "Dropout": (), "Sdpa": (),
    "SelfAttention": ("query", "value", "key", "sdpa"), "SelfOutput": ("dense", "LayerNorm", "dropout"),
    "Attention": ("self", "output"), "Intermediate": ("dense",), "Output": ("dense", "LayerNorm", "dropout"),
    "Layer": ("attention", "intermediate", "output"), "Encoder": ("layer",),
    "Embeddings": ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm", "dropout"),
    "Model": ("embeddings", "encoder"), "Transform": ("dense", "LayerNorm"), "Predictions": ("transform", "bias"),
    "Head": ("predictions",), "ForMaskedLM": ("bert", "cls"),
}


def bert(lib, layers, hidden, intermediate, vocab):
    """The tree of lib/model/tree/bert.h, node for node: 16 * layers + 10 leaves."""

    def node(kind, *children):
        return lib.module(kind, dict(zip(CLASSES[kind], children)))

    def linear(n_in, n_out):
        return node("Linear", lib.parameter(Leaf(n_out, n_in)), lib.parameter(Leaf(n_out)))

    def norm():
        return node("LayerNorm", lib.parameter(Leaf(hidden)), lib.parameter(Leaf(hidden)))

    def layer():
        attention = node("SelfAttention", linear(hidden, hidden), linear(hidden, hidden), linear(hidden, hidden), node("Sdpa"))
        attended = node("SelfOutput", linear(hidden, hidden), norm(), node("Dropout"))
        return node("Layer", node("Attention", attention, attended), node("Intermediate", linear(hidden, intermediate)),
                    node("Output", linear(intermediate, hidden), norm(), node("Dropout")))

    embeddings = node("Embeddings", *(node("Embedding", lib.parameter(Leaf(n, hidden))) for n in (vocab, 512, 2)), norm(),
                      node("Dropout"))
    model = node("Model", embeddings, node("Encoder", tuple(layer() for _ in range(layers))))
    head = node("Head", node("Predictions", node("Transform", linear(hidden, hidden), norm()), Leaf(vocab)))
    return node("ForMaskedLM", model, head)


def modules(tree, path=()):
    """(path, module) of every module below the root, children first."""
    children = enumerate(tree) if isinstance(tree, tuple) else ((f, getattr(tree, f)) for f in CLASSES.get(type(tree).__name__, ()))
    for name, child in children:
        if isinstance(child, tuple) or type(child).__name__ in CLASSES:
            yield from modules(child, path + (name,))
    if path and not isinstance(tree, tuple):
        yield path, tree


def find_fnmatch(tree):
    """[(path, module, transform)]: the first pattern that matches, as the reports' loop."""
    found = []
    for path, module in modules(tree):
        text = ".".join(map(str, path))
        for pattern, transform in PLAN:
            if fnmatch.fnmatchcase(text, pattern):
                found.append((path, module, transform))
                break
    return found


COMPILED = re.compile("|".join("(%s)" % fnmatch.translate(pattern) for pattern, _ in PLAN))


def find_compiled(tree):
    """The same by one regular expression: its first alternative that matches is the plan's first."""
    found = []
    for path, module in modules(tree):
        match = COMPILED.match(".".join(map(str, path)))
        if match:
            found.append((path, module, PLAN[match.lastindex - 1][1]))
    return found


def transformed(lib, module, transform):
    """The module's replacement: column divides weight and bias along dimension 0, row the weight along 1."""
    if transform == "column":
        return lib.module("Linear", {"weight": lib.parameter(module.weight.value, 0), "bias": lib.parameter(module.bias.value, 0)})
    return lib.module("Linear", {"weight": lib.parameter(module.weight.value, 1), "bias": module.bias})


def at(tree, path):
    for name in path:
        tree = tree[name] if isinstance(name, int) else getattr(tree, name)
    return tree


def check(lib):
    """Two layers: every target replaced, everything else equal, the old tree as it was."""
    tree = bert(lib, 2, 8, 16, 5)
    found = find_fnmatch(tree)
    if [(p, t) for p, _, t in found] != [(p, t) for p, _, t in find_compiled(tree)] or len(found) != 12:
        raise Refused("the two matchers disagree, or do not find 6 modules per layer")
    new = lib.replace(tree, [p for p, _, _ in found], [transformed(lib, m, t) for _, m, t in found])
    for path, old in modules(tree):
        if type(old).__name__ != "Linear":
            continue
        was, now = at(tree, path), at(new, path)
        how = dict((p, t) for p, _, t in found).get(path)
        if was.weight.divided is not None or now.weight.divided != {"column": 0, "row": 1, None: None}[how]:
            raise Refused("%s is wrong after patching" % ".".join(map(str, path)))
    if len(lib.leaves(new)) != 16 * 2 + 10:
        raise Refused("the patched tree has %d leaves" % len(lib.leaves(new)))


def case_of(request):
    case = axes_of(request, KNOWN, unused={"tp", "slicing", "dtype", "staging"})
    if case["tree"] != "bert" or case["plan"] != "reports":
        raise Skip("peers support only BERT and plan=reports, not trees or plans from files")
    if case["op"] != "patch":
        raise Skip("peers support only op=patch")
    if case["weights"] != "none":
        raise Skip("peers support only weights=none")
    return case


def answer_with(lib):
    def answer(wire, request):
        case = case_of(request)
        wire.setting(lib.name, lib.load())
        if request.get("check"):
            check(lib)
        size = (case["layers"], case["hidden"], case["intermediate"], case["vocab"])
        find = find_fnmatch if case["matcher"] == "fnmatch" else find_compiled
        counts = {}

        def iterate():
            t0 = time.perf_counter_ns()
            tree = bert(lib, *size)
            t1 = time.perf_counter_ns()
            found = find(tree)
            t2 = time.perf_counter_ns()
            found = found[:case["patches"]] if case["patches"] else found
            replacements = [transformed(lib, module, transform) for _, module, transform in found]
            t3 = time.perf_counter_ns()
            lib.replace(tree, [path for path, _, _ in found], replacements)
            t4 = time.perf_counter_ns()
            leaves = lib.leaves(tree)
            counts.update(leaves=len(leaves), targets=len(found), parameters=sum(math.prod(leaf.shape) for leaf in leaves))
            return t1 - t0, t2 - t1, t3 - t2, t4 - t3

        cut, rows, reason = timed(request.get("stop", {}), iterate)
        for i, region in enumerate(("create", "match", "transform", "tree_op")):
            for suffix in ("_ns", "_host_ns"):
                wire.times(region + suffix, [row[i] for row in rows], cut)
        for name, value in counts.items():
            wire.metric(name, "1", direction="none", **{"class": "exact", "combine": "median", "source": "mark"})
            wire.samples(name, "steady", 0, [value])
        wire.stopped(reason, cut)
        wire.checked(request, "every module of a 2-layer tree")

    return answer


class Equinox(Library):
    """Every node an eqx.Module, replaced by eqx.tree_at."""

    name = "equinox"

    def load(self):
        if not self.kinds:
            self.eqx = equinox = imported("equinox", "pip install equinox,")
            self.jax = imported("jax", "pip install equinox,")
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


OPTREE_NAMESPACE = "perfkit"


class OptreeParameter:
    def __init__(self, value, divided=None):
        self.value, self.divided = value, divided


class Optree(Library):
    """Nodes registered with optree, replaced by optree.tree_map with a predicate."""

    name = "optree"

    def load(self):
        if not self.kinds:
            self.optree = optree = imported("optree", "pip install optree,")
            for kind, fields in CLASSES.items():
                self.kinds[kind] = self.register(kind, fields)
            optree.register_pytree_node(OptreeParameter, lambda p: ((p.value,), p.divided), lambda divided, c: OptreeParameter(c[0], divided),
                                        namespace=OPTREE_NAMESPACE)
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

        self.optree.register_pytree_node(cls, flatten, unflatten, namespace=OPTREE_NAMESPACE)
        return cls

    def module(self, kind, children):
        node = self.kinds[kind]()
        for f, child in children.items():
            setattr(node, f, child)
        return node

    def parameter(self, leaf, divided=None):
        return OptreeParameter(leaf, divided)

    def exchange(self, tree, new):
        """One traversal that replaces the nodes whose id is in `new`."""
        return self.optree.tree_map(lambda x: new.get(id(x), x), tree, is_leaf=lambda x: id(x) in new, namespace=OPTREE_NAMESPACE)

    def replace(self, tree, paths, replacements):
        if self.one_call:
            return self.exchange(tree, {id(at(tree, path)): r for path, r in zip(paths, replacements)})
        for path, replacement in zip(paths, replacements):
            tree = self.exchange(tree, {id(at(tree, path)): replacement})
        return tree

    def leaves(self, tree):
        return self.optree.tree_leaves(tree, namespace=OPTREE_NAMESPACE)


def run(program, lib):
    serve(program, {"tree-patch": answer_with(lib)})
