"""llama_generate.py FILE.gguf THREADS FEW MANY TEXTS...: prints, for each number of texts at a time, the tokens per second
that llama.cpp (llama-cpp-python) generates with the model in FILE. Measures the tokens FEW to MANY of each text. Each step
takes the most probable token, as generate --temperature 0 does."""
import ctypes
import sys
import time

import llama_cpp
import numpy

path, threads, few, many = sys.argv[1], *map(int, sys.argv[2:5])
llama_cpp.llama_backend_init()
silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
for texts in map(int, sys.argv[5:]):
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_seq_max, params.n_batch, params.n_ubatch = 256 * ((texts * (many + 8) + 255) // 256), texts, 512, 512
    params.n_threads = params.n_threads_batch = threads
    params.kv_unified = True
    context = llama_cpp.llama_init_from_model(model, params)
    batch = llama_cpp.llama_batch_init(texts, 0, 1)
    batch.n_tokens = texts
    ids = numpy.full(texts, 464)
    for step in range(many):
        if step == few:
            began = time.perf_counter()
        for i in range(texts):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = int(ids[i]), step, 1, 1
            batch.seq_id[i][0] = i
        if llama_cpp.llama_decode(context, batch):
            sys.exit("llama_generate: llama_decode failed")
        logits = numpy.ctypeslib.as_array(llama_cpp.llama_get_logits(context), (texts, vocabulary))
        ids = logits.argmax(1)
    print(f"{texts * (many - few) / (time.perf_counter() - began):.2f}")
    llama_cpp.llama_free(context)
