"""`plan parallel`: the report's question answered, explained with a pencil, searched by brute force, from measured rates; bad questions refused."""
import itertools
import json
import math
import re
import sqlite3

import pytest
from conftest import not_sanitized
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

REPORT = ("--model", "ffn:16384x53248x126", "--chip", "tpu-v5p", "--fsdp", "16", "--tp", "4", "--sp", "off", "--links", "fsdp=2",
          "--seq", "1", "--batch", "22384")


def plan(perfkit, *args):
    r = perfkit("plan", "parallel", *args, "--format", "json")
    assert r.status == 0 and r.stderr == "", r
    return {name: table["rows"] for name, table in r.json()["tables"].items()}


def shown(value, text):
    """As many decimals as the text has."""
    return f"{value:.{len(text.partition('.')[2])}f}" == text


# --- a reader with a pencil: formulas of C are computed from their text ---

TOKEN = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|[A-Za-z_]\w*|<=|>=|[-+*/()?:<>,])")
ORDER = [("<=", ">=", "<", ">"), ("+", "-"), ("*", "/")]
FUNCTIONS = {"fmax": max, "fmin": min, "ceil": math.ceil, "sqrt": math.sqrt}
OPERATIONS = {"<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
              "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b if b else math.inf}


def compute(text):
    tokens = TOKEN.findall(text) + [None]
    at = iter(range(len(tokens)))
    here = [next(at)]

    def take():
        token = tokens[here[0]]
        here[0] = next(at, None)
        return token

    def atom():
        token = take()
        if token == "(":
            value = choice()
            assert take() == ")"
            return value
        if token in FUNCTIONS:
            take()
            values = [choice()]
            while tokens[here[0]] == ",":
                take()
                values.append(choice())
            take()
            return FUNCTIONS[token](*values)
        return float(token)

    def binary(level):
        if level == len(ORDER):
            return atom()
        value = binary(level + 1)
        while tokens[here[0]] in ORDER[level]:
            value = OPERATIONS[take()](value, binary(level + 1))
        return value

    def choice():
        value = binary(0)
        if tokens[here[0]] != "?":
            return value
        take()
        first = choice()
        assert take() == ":"
        second = choice()
        return first if value else second

    value = choice()
    assert tokens[here[0]] is None, text
    return value


def check_explanation(rows):
    """Every value follows from its numbers, these from rows above, terms add up to sums, and intervals contain values."""
    by_stage = {}
    for row in rows:
        values = by_stage.setdefault(row["stage"], {})
        if row["formula"] and row["value"] is not None:
            assert compute(row["numbers"]) == pytest.approx(row["value"], rel=1e-9, abs=1e-9), row
            for name in re.findall(r"[A-Za-z_]\w*", row["formula"]):
                assert name in values or name in FUNCTIONS or re.fullmatch(r"e\d+", name) or row["stage"] == "first", (row["name"], name)
        values[row["name"]] = row["value"]
        if row["value"] is not None and row["low"] is not None and row["high"] is not None:
            assert row["low"] <= row["value"] * (1 + 1e-12) and row["value"] <= row["high"] * (1 + 1e-12), row
    last = by_stage.get("last") or by_stage["the only one"]
    for row in rows:
        if row["kind"] == "sum" and row["stage"] != "first":
            assert row["value"] == pytest.approx(sum(last[name] for name in row["formula"].split(" + ")))
    return last


def test_the_right_answers(perfkit):
    """The same digits as tests/unit/model/parallel, from the options that a user gives."""
    t = plan(perfkit, *REPORT)
    (model,), (memory,), time = t["model"], t["memory"], {r["scope"]: r for r in t["time"]}
    assert model["parameters"] == 219848638464 and shown(model["states_bytes"] / 1e9, "3517.58") and model["token_bytes"] == 17547264
    assert shown(memory["activations_bytes"] / 1e9, "10.47") and shown(memory["gathered_bytes"] / 1e9, "1.74")
    assert shown(time["forward"]["shard_tokens"], "1399") and shown(time["forward and backward"]["shard_tokens"], "1325")
    for form, overlap, shard, chip, batch in (("book", "sum", "1581", "395", "25302"), ("ring", "sum", "1399", "350", "22390"),
                                              ("book", "max", "1278", "319", "20444"), ("ring", "max", "1198", "299", "19167")):
        forward = plan(perfkit, *REPORT, "--form", form, "--overlap", overlap)["time"][1]
        assert shown(forward["shard_tokens"], shard) and shown(forward["chip_tokens"], chip) and shown(forward["batch_tokens"], batch)
    devices = plan(perfkit, *REPORT[:4], "--prefetch", "0", "--sharded-activations", "50%", "--memory", "95GB")["devices"]
    assert [d["chips"] for d in devices] == [46, 61, 156, None] and "impossible" in devices[3]["note"]
    assert shown(plan(perfkit, *REPORT[:2], "--memory", "80GiB")["model"][0]["chips_for_states"], "40.95")


@pytest.mark.parametrize("args", [
    REPORT,
    ("--model", "llama-3-405b", "--fsdp", "4", "--tp", "8", "--cp", "2", "--pp", "16", "--dp", "2", "--micro", "32", "--recompute", "selective"),
    ("--model", "llama-3-8b", "--tp", "4", "--pp", "4", "--interleave", "2", "--micro", "8", "--form", "book", "--overlap", "max"),
    ("--model", "gpt-3-175b", "--fsdp", "8", "--tp", "8", "--recompute", "block", "--attention", "matrix", "--overlap", "none", "--zero", "1"),
    ("--model", "qwen2.5-0.5b", "--dp", "4", "--fsdp", "2", "--zero", "2", "--compute", "3e14,2e14,4e14", "--bandwidth", "200GB,150GB,220GB",
     "--launch", "20us,10us,40us"),
])
def test_explained_with_a_pencil(perfkit, args):
    t = plan(perfkit, *args, "--explain")
    last = check_explanation(t["explain"])
    assert last["step_ns"] == pytest.approx(t["meshes"][0]["step_ns"])
    memory = t["memory"][0]
    parts = ("weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "gathered_bytes")
    assert memory["memory_bytes"] == pytest.approx(sum(memory[p] for p in parts))
    terms = plan(perfkit, *args)
    assert sum(r["bytes"] for r in terms["memory_terms"]) == pytest.approx(memory["memory_bytes"])
    whole = {r["scope"]: r for r in terms["time"]}["forward and backward"]
    spent = sum(whole[k] for k in ("math_ns", "fsdp_ns", "tp_ns", "cp_ns", "pp_ns", "dp_ns"))
    assert sum(r["time_ns"] for r in terms["time_terms"]) == pytest.approx(spent)
    assert all(r["formula"] and r["sharded"] for r in terms["memory_terms"] + terms["time_terms"])


@pytest.mark.parametrize("args", [("--ranks", "2,64"), ("--backward", "1s", "--launch", "35us", "--hop", "2us"), ("--model", "qwen2.5-0.5b")])
def test_buckets_explained_with_a_pencil(perfkit, args):
    r = perfkit("plan", "bucket", *args, "--explain", "--format", "json")
    assert r.status == 0, r
    terms = {row["ranks"]: row for row in r.rows("terms")}
    values = {}
    for row in r.rows("explain"):
        known = values.setdefault(row["ranks"], {})
        if row["formula"]:
            assert all(name in known or name in FUNCTIONS or name == "e9" for name in re.findall(r"[A-Za-z_]\w*", row["formula"]))
            assert compute(row["numbers"]) == pytest.approx(row["value"] if row["value"] is not None else math.inf, rel=1e-6)
        known[row["name"]] = row["value"]
    assert set(values) == set(terms)
    for ranks, term in terms.items():
        assert [values[ranks][k] for k in ("s", "best", "report")] == [term[k + "_bytes"] for k in ("gradient", "general", "report")]


def test_who_is_sharded(perfkit):
    """FSDP divides states and no activations; tp ranks share a batch."""
    one, many = (plan(perfkit, "--model", "llama-3-8b", "--batch", str(8 * n), "--fsdp", str(n)) for n in (1, 8))
    assert many["memory"][0]["weights_bytes"] == pytest.approx(one["memory"][0]["weights_bytes"] / 8)
    assert many["memory"][0]["activations_bytes"] == one["memory"][0]["activations_bytes"]
    tp = plan(perfkit, "--model", "llama-3-8b", "--batch", "8", "--tp", "4", "--fsdp", "2")
    threshold = {r["scope"]: r for r in tp["time"]}["forward"]
    assert threshold["batch_tokens"] == 2 * threshold["shard_tokens"] == 8 * threshold["chip_tokens"] > 0
    assert all("sharded by" in r["sharded"] or r["term"] == "statistics" for r in tp["memory_terms"])


AXES = ("dp", "fsdp", "tp", "cp", "pp", "micro", "interleave", "zero", "sp", "recompute")


@not_sanitized
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_more_shards_never_need_more_memory(perfkit, data):
    """Of the kind that they divide; and a term never grows when its divisor does."""
    heads = data.draw(st.sampled_from([8, 16]))
    model = f"transformer:layers={data.draw(st.integers(1, 6)) * 4},width={heads * 64},ff={heads * 128},heads={heads},vocab=4096"
    axis, kinds = data.draw(st.sampled_from([("fsdp", ("weights", "gradients", "optimizer")), ("tp", ("weights", "gradients", "optimizer", "activations")),
                                             ("cp", ("weights", "gradients", "optimizer", "activations"))]))
    recompute = data.draw(st.sampled_from(["none", "selective", "block"]))
    before = None
    for n in (1, 2, 4, 8):
        (m,) = plan(perfkit, "--model", model, "--batch", "8", "--seq", "512", f"--{axis}", n, "--recompute", recompute,
                    *(("--micro", str(8 // n)) if axis == "fsdp" else ()))["memory"]
        if before:
            for kind in kinds:
                assert m[kind + "_bytes"] <= before[kind + "_bytes"]
        before = m


@not_sanitized
def test_a_plan_without_a_number_of_chips(perfkit):
    """One chip where a step fits there, else the meshes of 8; and what no 8 chips hold is printed with what it needs. An axis is a mesh."""
    meshes = plan(perfkit)["meshes"]
    assert meshes[0]["status"] == "best" and {r["chips"] for r in meshes} == {8}
    assert plan(perfkit, "--chips", "8")["meshes"] == meshes
    (one,) = plan(perfkit, "--batch", "4", "--seq", "512")["meshes"]
    assert one["chips"] == 1 and one["status"] == "best"
    (given,) = plan(perfkit, "--dp", "1")["meshes"]
    assert given["chips"] == 1 and given["status"] == "does not fit"
    r = perfkit("plan", "parallel", "--model", "llama-3-405b", "--format", "json")
    (row,), notes = r.rows("meshes"), " ".join(r.json()["tables"]["meshes"]["notes"])
    assert r.status == 0 and row["chips"] == 1 and row["status"] == "does not fit" and r.rows("memory_terms") and r.rows("time_terms")
    refusal = perfkit("plan", "parallel", "--model", "llama-3-405b", "--chips", "8").error()
    assert all(refusal[part] in notes for part in ("what", "why", "try"))


@not_sanitized
def test_search_finds_what_brute_force_finds(perfkit):
    """Every mesh one by one, from its options, against the ranking of the search."""
    base = ("--model", "transformer:layers=4,width=512,ff=2048,heads=4,kv_heads=2,vocab=8192", "--batch", "8", "--seq", "256",
            "--memory", "300MB", "--network", "1GB")
    found = plan(perfkit, *base, "--chips", "8", "--top", "0")["meshes"]
    assert len(found) == len({tuple(r[a] for a in AXES) for r in found})
    fitting = [r for r in found if r["status"] != "does not fit"]
    assert 0 < len(fitting) < len(found) and found[: len(fitting)] == fitting
    assert [r["step_ns"] for r in fitting] == sorted(r["step_ns"] for r in fitting)
    best, count = math.inf, 0
    for sizes in itertools.product((1, 2, 4, 8), repeat=5):
        if math.prod(sizes) != 8:
            continue
        axes = [x for name, n in zip(AXES, sizes) for x in ("--" + name, n)]
        r = perfkit("plan", "parallel", *base, *axes, "--micro", "1,2,4,8", "--interleave", "1,2,4", "--zero", "1,2,3", "--recompute",
                    "none,selective,block", "--top", "0", "--format", "json")
        if r.status == 0:
            rows = [row for row in r.rows("meshes") if row["status"] != "does not fit"]
            count += len(r.rows("meshes"))
            best = min([best] + [row["step_ns"] for row in rows])
    assert best == found[0]["step_ns"] and count == len(found)


@pytest.mark.parametrize("model, batch", [("small", "64"), ("large", "32")])
def test_memory_beside_a_dry_run(perfkit, model, batch):
    """The optimizer is what a step has and forward+backward has not, except for a block of its constants; states are in both."""
    r = perfkit("run", "mixed-precision", "-d", "null", "--model", model, "--dtype", "fp32", "--mode", "forward+backward,step", "-v", "eager",
                "--dry-run", "--format", "json")
    assert r.status == 0, r
    less, more = (row["predicted_bytes"] for row in r.rows("plan"))
    (memory,) = plan(perfkit, "--model", model, "--batch", batch, "--seq", "256", "--precision", "fp32")["memory"]
    assert more - less == memory["optimizer_bytes"] + 256
    assert memory["memory_bytes"] < more  # inputs, and values that live for a moment
    assert "(mixed-precision --dry-run counts them)" in " ".join(perfkit("plan", "parallel", "--model", model).stdout.split())


def states(memory):
    return sum(memory[kind + "_bytes"] for kind in ("weights", "gradients", "optimizer"))


def test_memory_beside_megatron(perfkit):
    """theoretical_memory_usage.py of Megatron-LM: 18 bytes a parameter, or 6 + 12 / data shards; 34 bytes a token, block and feature (Korthikanti et al. 2022)."""
    megatron = ("--precision", "bf16-fp32-grads", "--zero", "1", "--memory", "900GB")
    for shards, a_parameter in ((1, 18), (8, 6 + 12 / 8)):
        (memory,) = plan(perfkit, "--model", "llama-3-8b", *megatron, "--fsdp", shards, "--batch", "64")["memory"]
        assert states(memory) == 8030261248 * a_parameter
    (memory,) = plan(perfkit, "--model", "llama-3-405b", *megatron, "--fsdp", "4", "--tp", "8", "--pp", "9", "--batch", "256", "--micro", "64")["memory"]
    width, blocks = 16384, 126 * (3 * 16384 * 53248 + 2 * 16384 * (16384 + 1024))
    matrices, vectors = (blocks / 9 + 128256 * width) / 8, 126 / 9 * 2 * width
    assert states(memory) == (matrices + vectors) * 9  # Megatron divides vectors by tp, too
    # 34 is for four times as wide blocks and without the scores; 2 of them are masks of dropout, and 4 more are recomputed here: the results of norms
    for recompute, a_feature in (("none", 34 - 2), ("selective", 34 - 2 - 4)):
        t = plan(perfkit, "--model", "gpt-3-175b", *megatron, "--tp", "8", "--pp", "8", "--micro", "64", "--batch", "64", "--seq", "2048", "--recompute", recompute)
        terms = {row["term"]: row["bytes"] for row in t["memory_terms"]}
        kept = t["memory"][0]["activations_bytes"] - terms["statistics"]
        again = terms["norm_outputs"] if recompute == "selective" else 0  # of the block that is computed again
        assert kept - again == a_feature * 2048 * 12288 * 96 / 8


def test_csv_of_all_and_json_of_the_best(perfkit):
    args = ("--model", "llama-3-8b", "--chips", "64", "--recompute", "none", "--zero", "3")
    r = perfkit("plan", "parallel", *args, "--top", "0", "--format", "csv", "-o", "meshes/")
    assert r.status == 0, r
    lines = (perfkit.cwd / "meshes" / "meshes.csv").read_text().splitlines()
    assert len(list((perfkit.cwd / "meshes").iterdir())) == 9
    for where in ((), ("-o", "one.csv"), ("--tables", "all"), ("--tables", "meshes,memory", "-o", "one.csv")):
        perfkit("plan", "parallel", *args, "--format", "csv", *where).refused(2, "plan parallel has 9 tables, and a CSV file is one table", "--tables meshes", "-o DIR/")
    assert not (perfkit.cwd / "one.csv").exists()
    for where in ((), ("-o", "one.csv")):
        r = perfkit("plan", "parallel", *args, "--top", "0", "--tables", "meshes", "--format", "csv", *where)
        assert r.status == 0 and (r.stdout or (perfkit.cwd / "one.csv").read_text()).splitlines() == lines
    assert list(plan(perfkit, *args, "--tables", "rates,model")) == ["model", "rates"]
    perfkit("plan", "parallel", *args, "--tables", "meshs").refused(2, "no table 'meshs'", "did you mean 'meshes'?")
    n = plan(perfkit, *args, "--top", "0")["meshes"]
    assert len(lines) == 1 + len(n) and lines[0].startswith("rank,chips,dp,fsdp,tp,cp,pp,micro,")
    (best,) = plan(perfkit, *args, "--top", "1")["meshes"]
    assert best == n[0] and best["status"] == "best"


def test_rates_of_a_store(perfkit):
    """Launch and bandwidth of ddp-bucket with their intervals, arithmetic of mixed-precision; typed rates are stronger."""
    link = ("--link-latency-us", "35", "--link-bytes-per-s", "8GB")
    assert perfkit("run", "ddp-bucket", "-d", "null", "-v", "bucket", "--bucket-bytes", "1MB,4MB,16MB", "--ranks", "8", *link,
                   "--compute-ms", "4", "--max-time", "2ms", "--invocations", "1").status == 0
    assert perfkit("run", "mixed-precision", "-d", "null", "--layers", "1", "--mode", "step", "--max-time", "2ms", "--invocations", "1").status == 0
    t = plan(perfkit, "--from", "@", "--from", "@~1", "--fsdp", "4")
    rates = {r["rate"]: r for r in t["rates"]}
    assert rates["launch"]["value"] == pytest.approx(35e3, rel=1e-3) and rates["bandwidth"]["value"] == pytest.approx(8e9, rel=1e-3)
    assert "run 1: " in rates["bandwidth"]["source"] and "run 2: model FLOPs of " in rates["compute"]["source"]
    for r in rates.values():
        assert r["low"] <= r["value"] <= r["high"]
    typed = {r["rate"]: r for r in plan(perfkit, "--from", "@", "--compute", "1e12")["rates"]}
    assert typed["compute"]["source"] == "typed in" and typed["compute"]["value"] == 1e12
    with sqlite3.connect(perfkit.db) as db:  # what a run measures first, where there is a device
        db.execute("DELETE FROM ceiling")
    perfkit("plan", "parallel", "--from", "machine").refused(6, "ceiling", "perfkit doctor --ceilings")
    with sqlite3.connect(perfkit.db) as db:
        for value in (9.8e13, 1e14):
            db.execute("INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence)"
                       " SELECT machine_id, 'cuda', 'bf16_flops_per_s', ?, 1, 0 FROM run LIMIT 1", (value,))
    compute = {r["rate"]: r for r in plan(perfkit, "--from", "machine")["rates"]}["compute"]
    assert (compute["low"], compute["value"], compute["high"]) == (pytest.approx(9.5e13), 1e14, 1e14)
    assert compute["source"] == "ceiling of cuda, bf16: a peak"


def test_intervals_reach_the_answers(perfkit):
    args = (*REPORT, "--compute", "4.6e14,4e14,5e14", "--bandwidth", "180GB,150GB,190GB")
    t = plan(perfkit, *args)
    forward = t["time"][1]
    corners = [plan(perfkit, *REPORT, "--compute", c, "--bandwidth", w)["time"][1]["shard_tokens"]
               for c in ("4e14", "5e14") for w in ("150GB", "190GB")]
    assert forward["shard_tokens_low"] == pytest.approx(min(corners)) and forward["shard_tokens_high"] == pytest.approx(max(corners))
    step = {r["total"]: r for r in t["totals"]}["step_ns"]
    assert step["low"] < step["value"] < step["high"]


def config(perfkit, **values):
    path = perfkit.cwd / "config.json"
    path.write_text(json.dumps(values))
    return ("--config", "config.json")


LLAMA = dict(model_type="llama", num_hidden_layers=32, hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
             num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=False)
QWEN = dict(model_type="qwen2", num_hidden_layers=24, hidden_size=896, intermediate_size=4864, num_attention_heads=14,
            num_key_value_heads=2, vocab_size=151936, tie_word_embeddings=True)
GPT2 = dict(model_type="gpt2", n_layer=12, n_embd=768, n_head=12, n_positions=1024, n_inner=None, vocab_size=50257)


@pytest.mark.parametrize("values, parameters", [(LLAMA, 8030261248), (QWEN, 494032768), (GPT2, 124439808)])
def test_config_files(perfkit, values, parameters):
    assert plan(perfkit, *config(perfkit, **values))["model"][0]["parameters"] == parameters


def test_config_files_of_strangers(perfkit):
    def refused(*words, **values):
        perfkit("plan", "parallel", *config(perfkit, **values)).refused(2, "config.json", *words)

    refused("model_type 'mamba' is not supported", "llama, mistral, qwen2, qwen3, gpt2", **{**LLAMA, "model_type": "mamba"})
    refused("it has no model_type")
    refused("num_local_experts", "experts", **{**LLAMA, "num_local_experts": 8})
    refused("hidden_size", "an integer from 1", **{**LLAMA, "hidden_size": -4})
    refused("hidden_size", "an integer from 1", **{**LLAMA, "hidden_size": "4096"})
    refused("num_hidden_layers", "an integer from 1", **{**LLAMA, "num_hidden_layers": 10**12})
    refused("the model has no layers", **{k: v for k, v in LLAMA.items() if k != "num_hidden_layers"})
    refused("does not divide", **{**LLAMA, "num_attention_heads": 7})
    for model in (LLAMA, GPT2):
        for key in model.keys() - {"model_type", "tie_word_embeddings"}:
            refused(key, "is an integer from 1 to", **{**model, key: 0})
    for value in (0, -1, -2):  # -2 is what a missing one is inside
        refused("head_dim", "is an integer from 1 to", **{**LLAMA, "head_dim": value})
    refused("the model has no positions", **{k: v for k, v in GPT2.items() if k != "n_positions"})
    path = perfkit.cwd / "config.json"
    for text, words in (("[1]", "not a JSON object"), ("{", "line 1 is not JSON"), ('{"a":1,"a":2}', "is not JSON"), ("", "is not JSON"),
                        ("[" * 5000, "is not JSON"), ('{"x":"' + "y" * (1 << 20) + '"}', "config.json")):
        path.write_text(text)
        perfkit("plan", "parallel", "--config", "config.json").refused(2, words)
    perfkit("plan", "parallel", "--config", "nowhere").refused(2, "nowhere")
    perfkit("plan", "parallel", "--config", "config.json", "--model", "tiny").refused(2, "--config", "--model")


def test_bad_questions(perfkit):
    def refused(status, args, *words):
        perfkit("plan", "parallel", *args.split()).refused(status, *words)

    refused(2, "--model lama-3-8b", "there is no model 'lama-3-8b'", "did you mean 'llama-3-8b'?")
    refused(2, "--model ffn:12x", "three integers", "ffn:16384x53248x126")
    refused(2, "--model ffn:0x4x4", "width: 0 is out of range")
    refused(2, "--model transformer:layers=3", "the model has no width")
    refused(2, "--model transformer:layers=3,width=64,ff=64,heads=4,head_dim=0,vocab=9", "head_dim: 0 is out of range")
    refused(2, "--model transformer:layer=3", "'layer' is not a field", "did you mean 'layers'?")
    refused(2, "--model transformer:layers=100000,width=1048576,ff=16777216,heads=65536,head_dim=65536,vocab=0", "2^62")
    refused(2, "--model llama-3-8b --tp 3", "tp=3 does not divide heads=32")
    refused(2, "--model llama-3-8b --tp 16", "tp=16 does not divide kv_heads=8")
    refused(2, "--pp 13", "pp=13 leaves a stage of layers=12 empty")
    refused(2, "--fsdp 3", "dp*fsdp=3 does not divide batch=1024")
    refused(2, "--micro 3", "micro=3 does not divide the 1024 sequences of a data shard")
    refused(2, "--cp 3", "cp=3 does not divide seq=4096")
    refused(2, "--pp 2 --micro 3 --batch 3 --interleave 2", "needs a multiple of them")
    refused(2, "--pp 2 --micro 4 --interleave 5", "pp*interleave=10 does not divide layers=12")
    refused(2, "--model ffn:64x64x4 --cp 2", "needs attention")
    refused(2, "--fsdp 2 --zero 0", "zero=0 divides no states")
    refused(2, "--sp on", "sp needs tp of 2 or more")
    refused(2, "--chips 7 --tp 3", "no mesh of 7 chips", "do not multiply to 7")
    refused(2, "--chips 1009 --model llama-3-8b", "no mesh of 1009 chips", "for example")
    refused(2, "--chips 16385", "--chips")
    refused(2, "--tp 0", "--tp 0", "an integer from 1 to 16384")
    refused(2, "--recompute all", "one of none, selective, block")
    refused(2, "--memory 80", "the unit is missing", "--memory 80GB")
    refused(2, "--memory lots", "--memory")
    refused(2, "--bandwidth 400Gbps", "--bandwidth", "are bits", "write 50GB")
    refused(2, "--compute 4e14,5e14,6e14", "--compute", "between its lowest and its highest")
    refused(2, "--compute fast", "--compute")
    for links in ("fsdp=0", "fsdp=16385", "foo=1", "micro=2", "fsdp", "fsdp=1:2"):
        refused(2, f"--links {links}", f"--links {links}", "(dp, fsdp, tp, cp, pp) has one number of links, from 1 to 16384", "--links fsdp=2")
    for compute in ("0", "1e308", "1e-308"):
        refused(2, f"--compute {compute}", "compute is from 1 to 1e+30 FLOP/s")
    refused(2, "--bandwidth 1e300GB", "without a sign or an exponent")
    refused(2, "--chip h100", "there is no data sheet of chip 'h100'", "h100-sxm", "--compute, --bandwidth, --network and --memory")
    refused(2, "--ranks 4", "plan parallel has no option --ranks", "plan bucket")
    perfkit("plan", "bucket", "--tp", "4").refused(2, "plan bucket has no option --tp", "plan parallel")
    perfkit("plan", "bucket", "--top", "4").refused(2, "plan bucket has no option --top", "plan parallel")


@not_sanitized
def test_no_mesh_fits(perfkit):
    r = perfkit("plan", "parallel", "--model", "llama-3-405b", "--chips", "8").refused(6, "no mesh of 8 chips fits", "the smallest needs")
    least = int(re.search(r"--chips (\d+), the least that fits", r.error()["try"])[1])
    assert perfkit("plan", "parallel", "--model", "llama-3-405b", "--chips", least).status == 0
    for n in range(9, least):
        assert perfkit("plan", "parallel", "--model", "llama-3-405b", "--chips", n).status != 0, n
    perfkit("plan", "parallel", "--model", "llama-3-405b", "--chips", "8", "--memory", "1GB", "--seq", "16384",
            "--dp", "1").refused(6, "no mesh of 8 chips fits", "do not fit")
