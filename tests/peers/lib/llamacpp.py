"""Texts by llama.cpp, where llama-cpp-python is installed."""
import importlib.util


def available():
    return importlib.util.find_spec("llama_cpp") is not None


def load(path, **options):
    import llama_cpp
    defaults = llama_cpp.llama_cpp.llama_model_default_params

    def plain():  # weights as the file has them: some builds' layouts for AMX crash in virtual machines
        params = defaults()
        params.use_extra_bufts = False
        return params
    llama_cpp.llama_cpp.llama_model_default_params = plain
    try:
        return llama_cpp.Llama(path, n_ctx=64, n_threads=2, verbose=False, **options)
    finally:
        llama_cpp.llama_cpp.llama_model_default_params = defaults


def greedy(model, ids, count):
    """The likeliest tokens after these, up to the one that ends a text."""
    out = []
    for token in model.generate(ids, temp=0.0, top_k=1, repeat_penalty=1.0):
        if token == model.token_eos() or len(out) == count:
            break
        out.append(token)
    return out
