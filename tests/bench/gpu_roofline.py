#!/usr/bin/env python3
# gpu_roofline.py [OPTION...]: predicts the time of a step on an H100 from counts, without a GPU: launches, bytes and products, counted on
# the emulated GPU (gpu_counts.c), and instructions of the attention kernels, from their machine code. OPTIONs go to `train` and replace
# those of GPT-2 124M, B 64, T 1024. Needs gcc, nvcc and cuobjdump ($CUOBJDUMP), and two minutes of a core.
#     make && tests/bench/gpu_roofline.py
import collections, os, re, subprocess, sys, tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
STEP = "gpt2-small --micro-batch-size 64 --global-batch-size 64 --sequence-length 1024"
WRAPPED = "emulated_launch emulated_copy emulated_gather products_multiply cublasLtMatmul cudaMalloc cudaMemsetAsync cudaMemcpyAsync cudaStreamSynchronize"

# The model. The first two were measured on a card (docs/gpu.md); kernels reach these shares of them.
COPY, PRODUCT = 3.01e12, 779e12  # bytes and operations a second
COPY_SHARE, PRODUCT_SHARE, ISSUE_SHARE = 0.80, 0.85, 0.81  # the last one gives the attention's forward the time that was measured
LAUNCH = 3e-6  # seconds between a kernel and the next one
CLOCK, WARPS_AT_ONCE = 1.7e9, 4 * 132  # of an H100
# Cycles that an instruction of a warp takes: products half of the card's peak, as mma.sync allows, and powers a quarter of a warp.
CYCLES = {"HMMA": 8, "MUFU": 8, "LDSM": 1, "FMUL": 1, "FFMA": 1, "FADD": 1, "FMNMX": 1, "F2FP": 1}

# llm.c's step of the same model, read from its train_gpt2.cu at 00247dca with cuDNN, without fused GELU, with GELU computed again. Passes of
# [N,C] a layer: forward 2 x 4 residuals with norms, 8 GELU; backward 8 + 12 GELU, 9 biases, 2 x 4 norms. Attention is cuDNN's, in
# operations a second of the products that are needed (causal, 4 and 10 N T C): 288e12 is published forward, 200e12 is assumed backward.
# Its loss, products and AdamW move as many bytes as ours. Its published figure is for each of 8 GPUs, with their sums of gradients.
LLMC_PASSES, LLMC_LAUNCHES, LLMC_ATTENTION, LLMC_PUBLISHED = 53, 380, (288e12, 200e12), 468

GROUPS = [("attention, forward", "attend_\\d"), ("attention, backward", "attend_bwd"), ("activations", "activation|gated"),
          ("norms", "norm_"), ("loss", "loss|columns_"), ("sums of columns", "column_part"), ("AdamW", "adamw"),
          ("norm of the gradients", "sum_part"), ("embeddings", "embed|sort|sum_runs|join_runs"), ("other", "")]


def sh(command, **more):
    subprocess.run(command, shell=True, check=True, executable="/bin/bash", **more)


def counts(options):
    """Returns the lines of the second of three steps."""
    with tempfile.TemporaryDirectory() as work:
        sh(f"""set -e; mkdir -p {work}/bin {work}/lib/textmill {work}/s/tests; cp -L build/release/bin/train {work}/bin; ln -s {ROOT}/build/release/share {work}/share
            cp -r cuda {work}/s; cp -r tests/emulate {work}/s/tests; cp tests/bench/gpu_counts.c {work}/s/tests/emulate; cd {work}/s
            perl -pi -e 's/int64_t i = 0; i < x \\* y/int64_t i = emulated_first; i < emulated_end/;
                s/^struct emulated emulated;/$& extern int64_t emulated_first, emulated_end;/' tests/emulate/emulate.c
            perl -pi -e 's/MEMORY = \\(size_t\\)1 << 30/MEMORY = (size_t)1 << 37/; s/memset\\(numbers, POISON, size\\);//' tests/emulate/runtime.c
            perl -pi -e 's/GRID_ROWS = 256/GRID_ROWS = 65535/' tests/emulate/emulate.h
            printf '%s\\n' cuda/*.cu cuda/*.c tests/emulate/*.c | xargs -P 2 -I{{}} sh -c 'case {{}} in *.cu) how="-fsanitize=thread
                --param tsan-instrument-func-entry-exit=0" ;; *) how= ;; esac
                gcc -std=gnu11 -O2 -I. -I{ROOT} -Itests/emulate/toolkit -DNCCL_LIBRARY=\\"none\\" -fPIC -fvisibility=hidden -fno-strict-aliasing $how \\
                -w -x c -c {{}} -o "$(echo {{}} | tr / _).o"'
            gcc -shared *.o -lm {" ".join("-Wl,--wrap=" + name for name in WRAPPED.split())} -o ../lib/textmill/libtextmill-emulated.so
            TEXTMILL_COUNTS=../counts ../bin/train -q {options} --data generated --precision bf16 --activation-precision bf16 --dropout 0 \\
                --steps 3 --no-save --device emulated:2 -o ../out""", cwd=ROOT)
        lines = [line.split() for line in open(f"{work}/counts")]
    steps = [i for i, line in enumerate(lines) if line[:2] == ["kernel", "embed"]]
    return lines[steps[1]:steps[2]]


def instructions():
    """Returns the cycles per product of each attention kernel: instructions that only its inner loops have, from the first product to the
    last one."""
    with tempfile.TemporaryDirectory() as work:
        sh(f"PATH=$PATH:/usr/local/cuda/bin; nvcc -std=c++17 -O3 -I. -arch=sm_90 -cubin cuda/attention_mma.cu -o {work}/a.cubin &&"
           f" ${{CUOBJDUMP:-cuobjdump}} -sass {work}/a.cubin >{work}/sass", cwd=ROOT)
        found, name = collections.defaultdict(list), ""
        for line in open(f"{work}/sass"):
            if function := re.search(r"Function : _Z\d+(\w+?)9attention$", line):
                name = function[1]
            elif op := re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ +)?([A-Z0-9]+)", line):
                found[name].append(op[1])
    loops = {name: ops[ops.index("HMMA"):len(ops) - ops[::-1].index("HMMA")] for name, ops in found.items() if "HMMA" in ops}
    return {name: sum(CYCLES.get(op, 0) for op in ops) / ops.count("HMMA") for name, ops in loops.items()}


def main():
    options = " ".join(sys.argv[1:]) or STEP
    lines, cycles = counts(options), instructions()
    table = collections.OrderedDict((name, [0, 0, 0, 0.0]) for name, _ in [("products", "")] + GROUPS)
    passes = collections.Counter()
    for line in lines:
        if line[0] == "product":
            m, n, k = map(int, line[1:4])
            group, launches, moved, flops = "products", 1, 0, 2 * m * n * k
            time = flops / (PRODUCT * PRODUCT_SHARE)
        elif line[0] == "kernel":
            name, (read, written, products) = line[1], map(int, line[2:])
            group = next(g for g, pattern in GROUPS if re.match(pattern, name))
            launches, moved, flops = 1, read + written, products * 2 * 16 * 8 * 16
            time = moved / (COPY * COPY_SHARE)
            if products:
                time = max(time, products * cycles[name] / (WARPS_AT_ONCE * CLOCK * ISSUE_SHARE))
            passes[name] += moved
        else:
            continue
        for i, x in enumerate((launches, moved, flops, time + LAUNCH)):
            table[group][i] += x
    print(f"{'kernels':22} {'launches':>8} {'GB':>8} {'TFLOP':>8} {'ms':>8}")
    for name, (launches, moved, flops, time) in table.items():
        print(f"{name:22} {launches:8} {moved / 1e9:8.2f} {flops / 1e12:8.2f} {time * 1e3:8.2f}")
    total = [sum(row[i] for row in table.values()) for i in range(4)]
    print(f"{'sum':22} {total[0]:8} {total[1] / 1e9:8.2f} {total[2] / 1e12:8.2f} {total[3] * 1e3:8.2f}")
    first = next(line for line in lines if line[0] == "product")
    setting = lambda name, usual: int(found[1]) if (found := re.search(rf"--{name}[ =](\d+)", options)) else usual
    N, C, L, T = int(first[1]), int(first[3]), setting("layers", 12), setting("sequence-length", 1024)
    print(f"{N / total[3] / 1e3:.0f} k tok/s predicted; waits {sum(line[0] == 'wait' for line in lines)}, "
          f"copies {sum(line[0] == 'copy' for line in lines)}")
    each = 2 * N * C * L
    maps = sum(table[name][1] for name in ("activations", "norms", "sums of columns"))
    print(f"passes of [N,C] a layer in activations, norms and sums: {maps / each:.1f}; by kernel:",
          ", ".join(f"{name} {moved / each:.1f}" for name, moved in passes.most_common(9)))
    if not sys.argv[1:]:
        theirs = sum(table[name][3] for name in ("products", "loss", "AdamW", "norm of the gradients", "embeddings"))
        theirs += LLMC_PASSES * each / (COPY * COPY_SHARE) + LLMC_LAUNCHES * LAUNCH
        theirs += sum(flops * N * T * C * L / 2 / speed for flops, speed in zip((4, 10), LLMC_ATTENTION))
        print(f"llm.c by the same model {theirs * 1e3:.1f} ms, {N / theirs / 1e3:.0f} k tok/s; published {LLMC_PUBLISHED} k")


main()
