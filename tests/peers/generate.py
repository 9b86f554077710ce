"""generate against transformers' generate(): equal greedy continuations of a random GPT-2, with and
without a repetition penalty; and sampled tokens that all lie in what its top-k and top-p filters keep."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import torch
    from tokenizers import Tokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList, TemperatureLogitsWarper
    from transformers import TopKLogitsWarper, TopPLogitsWarper
except ImportError:
    sys.exit(77)
DATA = os.path.join(os.environ["DATA"], "tokenizers")
if not os.path.isdir(DATA):
    sys.exit(77)

PROMPTS = ["My name is", "The Moon goes around the Earth, and", "  two  blanks\n\nand \u4e2d\u6587 \U0001f642", "1", "a" * 300]
LENGTH = 60
TOKENIZER = Tokenizer.from_file(os.path.join(DATA, "gpt2-tokenizer.json"))
failures = 0


def expect(what, got, want):
    global failures
    if got != want:
        failures += 1
        print(f"generate: {what}:\n  got  {got}\n  want {want}")


def model_folder(folder):
    torch.manual_seed(3)
    config = GPT2Config(n_layer=3, n_embd=64, n_head=4, n_positions=256, initializer_range=0.2)
    model = GPT2LMHeadModel(config).eval()
    model.save_pretrained(folder)
    shutil.copy(os.path.join(DATA, "gpt2-vocab.json"), os.path.join(folder, "vocab.json"))
    shutil.copy(os.path.join(DATA, "gpt2-merges.txt"), os.path.join(folder, "merges.txt"))
    return model


def ours(folder, *options):
    command = ["generate", "-q", "--json", "--model", folder, "--length", str(LENGTH), *options]
    out = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    return [json.loads(line) for line in out.splitlines()]


def encode(prompt):
    return TOKENIZER.encode(prompt).ids


def greedy(model, folder):
    for penalty in (1.0, 1.3, 0.8):
        prompts = [p for prompt in PROMPTS for p in ("--prompt", prompt)]
        results = ours(folder, "--temperature", "0", "--repetition-penalty", str(penalty), *prompts)
        for prompt, result in zip(PROMPTS, results):
            ids = torch.tensor([encode(prompt)])
            with torch.no_grad():
                want = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=LENGTH,
                                      repetition_penalty=penalty, pad_token_id=50256)[0, ids.shape[1]:].tolist()
            expect(f"{prompt!r}, penalty {penalty}", result["ids"], want)
            expect(f"{prompt!r}: tokens of the prompt", result["prompt_tokens"], ids.shape[1])


def sampled(model, folder):
    """Every sampled token is one that the filters leave, and as probable on average as it should be."""
    filters = LogitsProcessorList([TemperatureLogitsWarper(0.7), TopKLogitsWarper(20), TopPLogitsWarper(0.8)])
    results = ours(folder, "--temperature", "0.7", "--top-k", "20", "--top-p", "0.8", "--samples", "20", PROMPTS[0])
    outside, surprise, entropy, count = 0, 0.0, 0.0, 0
    for result in results:
        prompt = encode(PROMPTS[0])
        ids = torch.tensor([prompt + result["ids"]])
        with torch.no_grad():
            logits = filters(ids, model(ids).logits[0, len(prompt) - 1:-1].double())
        logp = torch.log_softmax(logits, -1)
        drawn = logp.gather(1, torch.tensor(result["ids"])[:, None])
        outside += int(torch.isinf(drawn).sum())
        surprise -= drawn.sum().item()
        entropy -= torch.nan_to_num(logp.exp() * logp).sum().item()
        count += len(drawn)
    expect("tokens that the filters drop", outside, 0)
    expect("enough tokens", count > 500, True)
    # 1000 draws: the mean surprise is the mean entropy but for some hundredths
    expect(f"mean surprise {surprise / count:.3f} near entropy {entropy / count:.3f}",
           abs(surprise - entropy) / count < 0.15, True)
    expect("samples differ", len({tuple(r["ids"]) for r in results}) > 1, True)


with tempfile.TemporaryDirectory() as work:
    reference = model_folder(work)
    greedy(reference, work)
    sampled(reference, work)
print(f"generate: {len(PROMPTS) * 3} greedy continuations of {LENGTH} tokens and 20 samples compared, {failures} differ")
sys.exit(failures != 0)
