"""model/ beside transformers and PyTorch, in both directions: a random GPT-2 saved by transformers (one file, split,
f16, bf16) gives the same logits here; one saved here gives the same logits there; the gradients of a whole step
agree. tests/peers/gpt.c runs our side."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    sys.exit(77)

from lib.program import build, close, our_logits, stir, their_logits

transformers.utils.logging.disable_progress_bar()
torch.manual_seed(7)


def random_gpt2(**changes):
    config = dict(n_layer=3, n_embd=96, n_head=4, n_positions=150, vocab_size=331, initializer_range=0.2,
                  activation_function="gelu_new", bos_token_id=330, eos_token_id=330)
    model = GPT2LMHeadModel(GPT2Config(**{**config, **changes})).eval()
    return stir(model)


def theirs_loads_here(program, work):
    ids = np.random.default_rng(1).integers(0, 331, 140)
    for name, changes, saving in [("one file", {}, {}), ("split", {}, {"max_shard_size": "200KB"}),
                                  ("n_inner 200", {"n_inner": 200}, {}), ("width 100", {"n_embd": 100}, {}),
                                  ("one layer", {"n_layer": 1}, {})]:
        model, folder = random_gpt2(**changes), os.path.join(work, name.replace(" ", "-"))
        model.save_pretrained(folder, **saving)
        if saving:
            assert os.path.exists(os.path.join(folder, "model.safetensors.index.json"))
        close(f"their model, {name}: logits", our_logits(program, folder, ids), their_logits(model, ids), 1e-4)
    for dtype in torch.float16, torch.bfloat16:
        model, folder = random_gpt2().to(dtype), os.path.join(work, str(dtype))
        model.save_pretrained(folder)
        close(f"their model, {dtype}: logits", our_logits(program, folder, ids),
              their_logits(model.float(), ids), 1e-4)


def ours_loads_there(program, work):
    folder = os.path.join(work, "ours")
    subprocess.check_call([program, "create", folder, "2", "64", "4", "128", "201", "5"])
    model, report = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"], report
    assert model.config.n_positions == 128 and model.config.eos_token_id == 200
    ids = np.random.default_rng(2).integers(0, 201, 100)
    close("our model: logits", our_logits(program, folder, ids), their_logits(model.eval(), ids), 1e-4)


def gradients_agree(program, work, B, T, **changes):
    model, folder = random_gpt2(**changes), os.path.join(work, f"gradients-{B}-{T}")
    model.save_pretrained(folder)
    ids = np.random.default_rng(3).integers(0, 331, (B, T + 1))
    ids.astype(np.uint32).tofile(folder + ".ids")
    subprocess.check_call([program, "gradients", folder, folder + ".ids", str(B), str(T), folder + ".out"])
    ours = np.fromfile(folder + ".out", np.float32)
    logits = model(torch.tensor(ids[:, :-1])).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 331), torch.tensor(ids[:, 1:]).reshape(-1))
    loss.backward()
    close(f"B={B} T={T}: loss", ours[:1], loss.detach().numpy()[None], 1e-5)
    at, worst = 1, ("", 0.0)
    for name, p in model.transformer.named_parameters():  # the order of the tensor table
        theirs = p.grad.numpy().ravel()
        mine = ours[at:at + theirs.size]
        at += theirs.size
        error = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
        worst = max(worst, (name, error), key=lambda w: w[1])
    assert at == ours.size
    print(f"B={B} T={T}: gradients: {worst[1]:.1e} in {worst[0]} (at most 1e-04)")
    assert worst[1] <= 1e-4


with tempfile.TemporaryDirectory() as scratch:
    gpt = build("gpt", scratch)
    theirs_loads_here(gpt, scratch)
    ours_loads_there(gpt, scratch)
    gradients_agree(gpt, scratch, 3, 37)
    gradients_agree(gpt, scratch, 2, 150)
    gradients_agree(gpt, scratch, 1, 700, n_positions=700, n_layer=1)
