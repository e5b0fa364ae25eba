"""Figures of a stage's run: what each says of a claim in docs/gpu-status.md, and what is expected of a GPU.

A figure is a row (claim, unit, bound, query). The query gives a name and a value for each figure of the newest run of a label; bound is
(AT_LEAST or AT_MOST, threshold), or None for what is only reported. An expected value is nobody's measurement of perfkit: it is a data
sheet's, a published figure of other software, or an estimate, and says which."""
import re
from typing import NamedTuple, Optional

AT_LEAST, AT_MOST = "at least", "at most"
RUN = "(SELECT max(run_id) FROM v_run WHERE label = ?1)"


class Figure(NamedTuple):
    claim: Optional[str]
    unit: str
    bound: Optional[tuple]
    query: str


def speed_up(ours, theirs, metrics, math=None):
    """Their time over ours, by the sum of metrics: the least over all settings that both have. How products are made is no setting: peers
    have one way, and ours is `math`."""
    total = """SELECT json_remove(axes, '$.math') AS setting, axes ->> 'math' AS math, variant, sum(median) AS ns FROM v_summary
        WHERE run_id = %s AND metric IN (%s) GROUP BY axes, variant HAVING count(*) = %d""" % (
        RUN, ", ".join("'%s'" % m for m in metrics), len(metrics))
    return """WITH t AS (%s) SELECT 'least time of %s over %s', min(1.0 * p.ns / o.ns) FROM t o JOIN t p USING (setting)
        WHERE o.variant = '%s' AND p.variant = '%s' %s HAVING count(*) > 0""" % (
        total, theirs, " ".join(filter(None, (ours, math))), ours, theirs, "AND o.math = '%s'" % math if math else "")


def step_ratio(metric, peer, dtype):
    return """SELECT '%s %s over %s', 1.0 * o.median / p.median FROM v_summary o JOIN v_summary p USING (run_id, metric, axes)
        WHERE run_id = %s AND metric = '%s' AND o.variant = 'compiled' AND p.variant = '%s' AND axes ->> 'mode' = 'step'
        AND axes ->> 'dtype' = '%s'""" % (dtype, metric, peer, RUN, metric, peer, dtype)


# Of FLOPs that the work declares: FLOPs per ns, over 1000, are TFLOP/s.
ATTENTION_RATES = """SELECT s.variant || ' ' || (s.axes ->> 'dtype') || coalesce(' ' || (s.axes ->> 'math'), '') || ' d=' || (s.axes ->> 'd_model') ||
    ' S=' || (s.axes ->> 'seq_len') || ' ' || replace(s.metric, '_ns', ''), 1.0 * w.flops / s.median / 1000
    FROM v_summary s JOIN v_work w ON w.case_id = s.case_id AND w.metric = s.metric
    WHERE s.run_id = %s AND s.metric IN ('forward_ns', 'backward_ns') AND s.variant IN ('flash', 'cudnn') AND s.axes ->> 'seq_len' >= 4096
    ORDER BY s.ordinal, s.metric DESC""" % RUN
# What a forward pass takes more with 3xtf32 than with fp16x3, at equal settings.
FP16X3_GAIN = """SELECT 'time of 3xtf32 over fp16x3, d=' || (o.axes ->> 'd_model') || ', at least', min(1.0 * t.median / o.median)
    FROM v_summary o JOIN v_summary t USING (run_id, metric, variant) WHERE run_id = %s AND metric = 'forward_ns' AND o.axes ->> 'math' = 'fp16x3'
    AND t.axes ->> 'math' = '3xtf32' AND json_remove(o.axes, '$.math') = json_remove(t.axes, '$.math') GROUP BY o.axes ->> 'd_model'""" % RUN
MFU = """SELECT (f.axes ->> 'dtype') || ' MFU', 100e9 * f.median / t.median / max(CAST(p.value AS REAL)) FROM v_summary f
    JOIN v_summary t ON t.case_id = f.case_id AND t.metric = 'step_ns'
    JOIN v_setting p ON p.run_id = f.run_id AND p.key = 'sheet_' || (f.axes ->> 'dtype') || '_flops_per_s'
    WHERE f.run_id = %s AND f.variant = 'compiled' AND f.metric = 'model_flops' AND f.axes ->> 'mode' = 'step' AND f.axes ->> 'dtype' %%s 'bf16'
    GROUP BY f.case_id""" % RUN
TRACE = """SELECT 'trace from timed region, at most', 100 * max(abs(1.0 * (b.busy_ns + b.gap_ns) / t.median - 1)) FROM v_breakdown b JOIN v_summary t
    ON t.case_id = b.case_id AND t.metric = b.region || '_ns' WHERE b.variant = 'compiled' AND b.run_id = %s HAVING count(*) > 0""" % RUN
DECLARED = """WITH traced AS (SELECT case_id, region, sum(flops) AS flops, sum(bytes) AS bytes, min(whole) AS whole FROM v_breakdown
    WHERE run_id = %s GROUP BY 1, 2)
    SELECT 'traced work from declared work, at most', 100 * max(max(1.0 * abs(coalesce(d.flops, 0) - w.flops) / max(w.flops, 1),
                                                                  1.0 * abs(coalesce(d.bytes, 0) - w.bytes) / max(w.bytes, 1)))
    FROM v_work w LEFT JOIN traced d ON d.case_id = w.case_id AND w.metric = d.region || '_ns'
    WHERE w.case_id IN (SELECT case_id FROM traced WHERE whole) AND w.metric IN ('forward_ns', 'backward_ns', 'optimizer_ns')
    HAVING count(*) > 0""" % RUN
GPU_STATE = """SELECT 'cases with the state of the GPU', count(DISTINCT CASE WHEN l.notes LIKE '%%"state:gpu"%%' THEN c.case_id END)
    FROM v_case c JOIN v_slice l ON l.case_id = c.case_id WHERE c.run_id = %s AND c.device LIKE 'cuda%%' HAVING count(*) > 0""" % RUN
# Of the GPU's own clock: the driver tells for how long it held clocks back, and by what.
HELD_REASONS = """SELECT 'reasons for held clocks that the driver tells', count(DISTINCT CASE WHEN n.value >= 0 THEN n.name END) FROM v_counter n
    WHERE n.run_id = %s AND n.source = 'gpu-state' AND n.name GLOB 'gpu_held_by_*' HAVING count(*) > 0""" % RUN
EXPOSED = """SELECT 'exposed communication of ' || o.variant || ' over ' || p.variant || ', at most', max(1.0 * o.median / p.median)
    FROM v_summary o JOIN v_summary p ON p.run_id = o.run_id AND p.metric = o.metric AND p.axes ->> 'work' = o.axes ->> 'work'
    AND p.axes ->> 'model' = o.axes ->> 'model' AND coalesce(p.axes ->> 'bucket_bytes' = o.axes ->> 'bucket_bytes', 1) AND p.median > 0
    WHERE o.metric = 'exposed_ns' AND o.run_id = %s
    AND (o.variant, p.variant) IN (VALUES ('bucket', 'torch-ddp'), ('flat', 'torch-ddp-flat'), ('naive', 'torch-ddp-naive'))
    GROUP BY o.variant, p.variant ORDER BY 1""" % RUN
# perfkit only warns of a case that was not counted or not traced; its status is 0. Counters may take several passes. Peers have none.
OWN = "variant NOT GLOB 'torch-*' AND variant NOT GLOB 'equinox-*'"
UNTRACED = """WITH pass AS (SELECT case_id, invocation, max(status = 'ok') AS ok, max(CASE WHEN status <> 'ok' THEN message END) AS why
        FROM v_slice WHERE run_id = %s AND pass = ?2 GROUP BY 1, 2),
    missing AS (SELECT c.case_id, max(p.why) AS why FROM v_case c LEFT JOIN pass p USING (case_id)
        WHERE c.run_id = %s AND c.status = 'ok' AND %s AND coalesce(p.ok, 0) = 0 GROUP BY 1)
    SELECT coalesce(max(why), 'no result'), count(*) FROM missing HAVING count(*) > 0""" % (RUN, RUN, OWN)
TRACED = """SELECT 'cases with traced kernels', count(DISTINCT CASE WHEN b.calls > 0 THEN c.case_id END) FROM v_case c LEFT JOIN v_breakdown b USING (case_id)
    WHERE c.run_id = %s AND EXISTS (SELECT 1 FROM v_slice l WHERE l.case_id = c.case_id AND l.pass = 'trace') HAVING count(*) > 0""" % RUN

LAUNCHES = """SELECT 'cases with registers and occupancy of kernels', count(DISTINCT CASE WHEN k.value ->> '$.launch.registers' > 0
        AND k.value ->> '$.launch.occupancy' BETWEEN 0.01 AND 1 THEN l.case_id END)
    FROM v_slice l LEFT JOIN json_each(l.notes, '$.breakdown.kernels') k WHERE l.run_id = %s AND l.pass = 'trace' HAVING count(*) > 0""" % RUN

IDLE = """SELECT 'cases whose idle time has the host''s and the launch''s part', count(DISTINCT CASE WHEN r.value ->> '$.host_ns' + r.value ->> '$.launch_ns' > 0
        AND r.value ->> '$.host_ns' + r.value ->> '$.launch_ns' <= r.value ->> '$.gap_ns' THEN l.case_id END)
    FROM v_slice l LEFT JOIN json_each(l.notes, '$.breakdown.regions') r WHERE l.run_id = %s AND l.pass = 'trace' HAVING count(*) > 0""" % RUN
OVERHEADS = """SELECT 'records of overhead', coalesce(sum(o.value ->> '$.calls'), 0) FROM v_slice l LEFT JOIN json_each(l.notes, '$.breakdown.overhead') o
    WHERE l.run_id = %s AND l.pass = 'trace' HAVING count(*) > 0""" % RUN

USAGE = """SELECT 'moments with power and utilisation', count(*) FROM v_slice l, json_each(l.notes, '$.moments') m
    WHERE l.run_id = %s AND l.pass = 'counter' AND m.value ->> 1 > 0 AND m.value ->> 2 > 0 HAVING count(*) > 0""" % RUN


def counted(source):
    """Cases with a value above 0 of this source, of the cases that were to be counted."""
    return """SELECT 'cases with counts above 0', count(DISTINCT CASE WHEN n.value > 0 THEN c.case_id END) FROM v_case c
        LEFT JOIN v_counter n ON n.case_id = c.case_id AND n.source = '%s'
        WHERE c.run_id = %s AND EXISTS (SELECT 1 FROM v_slice l WHERE l.case_id = c.case_id AND l.pass = 'counter')
        HAVING count(*) > 0""" % (source, RUN)


def cases(claim, where=OWN):
    """Cases of each variant that were measured: at least one. A variant that only skipped (a library or a package is not here) shows nothing."""
    return Figure(claim, "", (AT_LEAST, 1), """SELECT variant || ' cases measured', sum(status = 'ok') FROM v_case WHERE run_id = %s AND %s
        GROUP BY variant HAVING sum(status <> 'skipped') > 0 ORDER BY variant""" % (RUN, where))


def memory_error(claim, most_bytes, where):
    """How far peak memory is from the prediction that was made before the case ran, in the worst case."""
    return Figure(claim, "bytes", (AT_MOST, most_bytes), """SELECT 'peak memory from predicted, at most', max(abs(s.median - c.predicted_bytes))
        FROM v_summary s JOIN v_case c USING (case_id) WHERE s.run_id = %s AND s.metric = 'peak_bytes' AND c.predicted_bytes IS NOT NULL AND c.device LIKE 'cuda%%'
        AND c.%s HAVING count(*) > 0""" % (RUN, where))


TOTAL = ("forward_ns", "backward_ns")
OF_SOURCES = [*(("gpu-counters", Figure(c, "", (AT_LEAST, 1), counted("gpu-counters"))) for c in ("gpu-counters", "counter-runs")),
              ("gpu-trace", Figure("gpu-trace", "", (AT_LEAST, 1), TRACED)), ("gpu-trace", Figure("kernel-needs", "", (AT_LEAST, 1), LAUNCHES)),
              ("gpu-trace", Figure("idle-time", "", (AT_LEAST, 1), IDLE)), ("gpu-trace", Figure("trace-overhead", "", (AT_LEAST, 1), OVERHEADS)),
              ("gpu-state", Figure("gpu-state", "", (AT_LEAST, 1), counted("gpu-state"))),
              ("gpu-state", Figure("clock-reasons", "", (AT_LEAST, 1), HELD_REASONS))]
TREE = [cases("tree-table", "variant = 'resident'"), cases("tree-weights", "axes ->> 'weights' = 'real' AND %s" % OWN)]

PEER_CASES = [cases("torch-peers", "variant GLOB 'torch-*'")]
RATES = [Figure(None, "TFLOP/s", None, ATTENTION_RATES)]
FP16X3 = [Figure("flash-fp16x3-speed", "x", (AT_LEAST, 1.5), FP16X3_GAIN), memory_error("flash-fp16x3-speed", 0, "variant = 'flash'"), *RATES]
WORK = [Figure("declared-work", "%", (AT_MOST, 1e-7), DECLARED)]
STEP = [Figure("gpu-doubts", "", (AT_LEAST, 1), GPU_STATE), Figure("step-trace", "%", (AT_MOST, 4), TRACE), *WORK, Figure(None, "%", None, MFU % "<>")]
CUDNN = [Figure("cudnn-speed", "x", (AT_LEAST, 0.98), speed_up("cudnn", "torch-sdpa-cudnn", TOTAL)),
         Figure("cudnn-speed", "x", (AT_LEAST, 1.7), speed_up("cudnn", "torch-sdpa", TOTAL)), *RATES]
FLASH_PEERS = [Figure(None, "x", None, speed_up("flash", peer, TOTAL, math)) for peer in ("torch-eager", "torch-sdpa-efficient")
               for math in ("ieee", "3xtf32")] + RATES
RANKS = [Figure(None, "x", None, EXPOSED)]
CHOICES = """SELECT 'products with different algorithms in processes of one run', sum(n > 1) FROM (SELECT count(DISTINCT value) AS n FROM v_setting
    WHERE run_id = %s AND key GLOB '*choice:*' GROUP BY key) HAVING count(*) > 0""" % RUN


def mfu(claim, least):
    return Figure(claim, "%", (AT_LEAST, least), MFU % "=")


def memory(peer):
    return [Figure("step-memory", "x", (AT_MOST, 1), step_ratio("peak_bytes", peer, dtype)) for dtype in ("fp32", "tf32", "bf16")]


def eager_step():
    return [Figure("step-eager", "x", (AT_MOST, 0.6), step_ratio("step_ns", "torch-eager", "bf16")), *memory("torch-eager")]


def compiled_step():
    return [Figure("step-compiled", "x", (AT_MOST, 0.88), step_ratio("step_ns", "torch-compile", "bf16")), *memory("torch-compile")]


def at_least(claim, what, value, least=1, unit=""):
    """A figure that is no query's."""
    bound = (AT_LEAST, least)
    return {"claim": claim, "what": what, "value": value, "unit": unit, "bound": bound, "holds": holds(bound, value)}


def holds(bound, value):
    return None if bound is None else value >= bound[1] if bound[0] == AT_LEAST else value <= bound[1]


def read(session, label, figures):
    """[{claim, what, value, unit, bound, holds}] of the newest run of this label; a figure that was not measured has no row."""
    rows = []
    for f in figures:
        for what, value in session.query(f.query, label):
            if value is not None:
                rows.append({"claim": f.claim, "what": what, "value": value, "unit": f.unit, "bound": f.bound, "holds": holds(f.bound, value)})
    return rows


def of_program(text, claim, pattern, unit):
    """Figures of test-gpu-bandwidth, test-gpu-overlap, test-gpu-parts and test-gpu-products, from the lines that they print: how many are below their aim, and each."""
    m = re.search(r"^(\d+) below their aim", text, re.M)
    bound = (AT_MOST, 0)
    rows = [{"claim": claim, "what": "lines below their aim", "value": int(m.group(1)), "unit": "lines", "bound": bound,
             "holds": int(m.group(1)) == 0}] if m else []
    for line in re.finditer(pattern, text, re.M):
        rows.append({"claim": None, "what": " ".join(line.group(1).split()), "value": float(line.group(2)), "unit": unit, "bound": None, "holds": None})
    return rows


BANDWIDTH_LINE = r"^(\S.*?\d+ x \d+) .* ([\d.]+) % of a copy"
PARTS_LINE = r"^(\S.*? parts) .* ([\d.]+) x(?:  below its aim)?$"
FIVE_LINE = r"^(\S+ .* d=\d+ +\w+) five .* ([\d.]+) x(?:  below its aim)?$"
OVERLAP_LINE = r"^(\S.*?\d+ x \d+) .* ([\d.]+) x(?:  below its aim)?$"
PRODUCT_LINE = r"^(\S.*?) +[\d.]+ us +([\d.]+) TFLOP/s"


class Expected(NamedTuple):
    gpu: str  # in the GPU's name
    what: str  # the figure
    value: str
    source: str


# Nothing here was measured with perfkit.
PUBLISHED = "published for H100 SXM: blackwell-tensorcore-kernels, results/bench.csv"
CUDNN_H200 = "published for H200, cuDNN 9.19.1, 64 heads, no mask: cudnn-frontend, sdpa_benchmark_training"
ESTIMATE = "estimate from instruction and register counts"
EXPECTED = [
    Expected("H100", "copy_bytes_per_s", "3.0 TB/s", "estimate: 90 % of the data sheet's 3.35"),
    Expected("H200", "copy_bytes_per_s", "4.3 TB/s", "estimate: 90 % of the data sheet's 4.8"),
    *(row for gpu in ("H100", "H200") for row in (
        Expected(gpu, "fp32_flops_per_s", "60 to 67 TFLOP/s", "data sheet: 66.9"),
        Expected(gpu, "tf32_flops_per_s", "418 TFLOP/s", PUBLISHED + "; data sheet: 494.7"),
        Expected(gpu, "bf16_flops_per_s", "762 TFLOP/s", PUBLISHED + "; data sheet: 989.4"),
        Expected(gpu, "exp_per_s", "3.7e12 /s", "computed: 16 a clock and multiprocessor at 1.755 GHz"),
        *(Expected(gpu, "flash fp32 %s d=%d S=16384 %s" % (m, d, way), value, ESTIMATE) for m, d, way, value in (
            ("3xtf32", 64, "forward", "45 to 60 TFLOP/s"), ("3xtf32", 128, "forward", "45 to 60 TFLOP/s"),
            ("fp16x3", 64, "forward", "100 to 140 TFLOP/s"), ("fp16x3", 128, "forward", "120 to 160 TFLOP/s"),
            ("3xtf32", 128, "backward", "28 to 35 TFLOP/s"), ("ieee", 128, "forward", "42 to 46 TFLOP/s"),
            ("ieee", 128, "backward", "28 to 30 TFLOP/s"))))),
    Expected("H200", "cudnn bf16 d=128 S=16384 forward", "702 TFLOP/s", CUDNN_H200),
    Expected("H200", "cudnn bf16 d=128 S=16384 backward", "612 TFLOP/s", CUDNN_H200),
]


def expected(gpu, what):
    """(value, source), or ("", "")."""
    return next(((e.value, e.source) for e in EXPECTED if e.what == what and e.gpu in (gpu or "")), ("", ""))
