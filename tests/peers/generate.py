"""generate beside transformers' generate(): equal greedy continuations of a random GPT-2, with and without penalties and
biases. Sampled tokens all lie in the set that the filters keep, and the whole set is sampled."""
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
    from transformers import LogitsProcessor, MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, TypicalLogitsWarper
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


class Penalties(LogitsProcessor):
    """Presence and frequency penalties as in OpenAI's API, and a window for these and for repetition."""

    def __init__(self, prompt, presence, frequency, repetition, window):
        self.prompt, self.presence, self.frequency = prompt, presence, frequency
        self.repetition, self.window = repetition, window

    def __call__(self, input_ids, scores):
        ids = input_ids[0].tolist()
        begin = max(0, len(ids) - self.window) if self.window else 0
        scores = scores.clone()
        for token in set(ids[begin:]):
            score = scores[0, token]
            scores[0, token] = score / self.repetition if score > 0 else score * self.repetition
        made = ids[max(begin, self.prompt):]
        for token in set(made):
            scores[0, token] -= self.presence + self.frequency * made.count(token)
        return scores


def penalized(model, folder):
    count = 0
    for presence, frequency, repetition, window in ((2.5, 0, 1, 0), (0, 1.5, 1, 0), (1, .5, 1.2, 0), (.5, 2, 1.1, 12),
                                                    (-.3, 0, 1, 8), (0, 0, 1.4, 5)):
        prompts = [p for prompt in PROMPTS[:3] for p in ("--prompt", prompt)]
        results = ours(folder, "--temperature", "0", "--presence-penalty", str(presence), "--frequency-penalty",
                       str(frequency), "--repetition-penalty", str(repetition), "--repetition-window", str(window), *prompts)
        for prompt, result in zip(PROMPTS, results):
            ids = torch.tensor([encode(prompt)])
            rules = LogitsProcessorList([Penalties(ids.shape[1], presence, frequency, repetition, window)])
            with torch.no_grad():
                want = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=LENGTH,
                                      logits_processor=rules, pad_token_id=50256)[0, ids.shape[1]:].tolist()
            expect(f"{prompt!r}, presence {presence}, frequency {frequency}, window {window}", result["ids"], want)
            count += 1
    return count


def biased(model, folder):
    ids = torch.tensor([encode(PROMPTS[0])])
    plain = ours(folder, "--temperature", "0", "--prompt", PROMPTS[0])[0]["ids"]
    bias = {plain[0]: -4.0, plain[1]: -100.0, plain[2]: 1.5, 262: 2.0}
    with torch.no_grad():
        want = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=LENGTH,
                              sequence_bias={(token,): value for token, value in bias.items()},
                              pad_token_id=50256)[0, ids.shape[1]:].tolist()
    options = [o for token, value in bias.items() for o in ("--logit-bias", f"{token}={value}")]
    got = ours(folder, "--temperature", "0", *options, "--prompt", PROMPTS[0])[0]["ids"]
    expect("biased", got, want)
    expect("a bias changes something", got != plain, True)


def filtered(model, folder):
    """Draws the first token many times: all draws are in the set that the filters keep, and each member of the set is
    drawn."""
    ids = torch.tensor([encode(PROMPTS[1])])
    with torch.no_grad():
        logits = model(ids).logits[:, -1].double()
    for warm, k, p, least, typical in ((1.5, 0, 1, .1, 1), (1., 0, 1, .3, 1), (1., 50, 1, 0, .3), (.7, 0, 1, 0, .2),
                                       (1.2, 30, .9, .15, .8), (1., 100, 1, .02, .5)):
        kept = LogitsProcessorList([TemperatureLogitsWarper(warm)])
        kept += [TopKLogitsWarper(k)] if k else []
        kept += [TopPLogitsWarper(p)] if p < 1 else []
        kept += [MinPLogitsWarper(least)] if least else []
        kept += [TypicalLogitsWarper(typical)] if typical < 1 else []
        probabilities = torch.softmax(kept(ids, logits)[0], -1)
        results = ours(folder, "--temperature", str(warm), "--top-k", str(k), "--top-p", str(p), "--min-p", str(least),
                       "--typical-p", str(typical), "--samples", "1500", "--length", "1", "--prompt", PROMPTS[1])
        seen = {result["ids"][0] for result in results}
        at = f"temperature {warm}, top k {k}, top p {p}, min p {least}, typical p {typical}: "
        expect(at + "tokens that the filters drop", sorted(t for t in seen if not probabilities[t]), [])
        expect(at + "tokens that are missing", [t for t in (probabilities > 1e-2).nonzero()[:, 0].tolist() if t not in seen], [])


def beams(folder):
    """Beam search, with a vocabulary in which the end of the text is probable: the same texts in the same order."""
    torch.manual_seed(5)
    end = 50256
    config = GPT2Config(n_layer=2, n_embd=48, n_head=4, n_positions=256, initializer_range=0.3)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        model.transformer.wte.weight[end] *= 3.5  # tied: its logits are large, too
    model.save_pretrained(folder)
    count = early = 0
    for width, penalty, repetition, samples, length in ((2, 1.0, 1.0, 1, 30), (4, 1.0, 1.0, 4, 25), (5, 0.0, 1.0, 2, 25),
                                                        (3, 2.0, 1.0, 3, 25), (4, -0.5, 1.2, 2, 25), (8, 1.5, 1.3, 8, 12)):
        prompts = [p for prompt in PROMPTS[:3] for p in ("--prompt", prompt)]
        results = ours(folder, "--beams", str(width), "--length-penalty", str(penalty), "--samples", str(samples),
                       "--repetition-penalty", str(repetition), "--length", str(length), *prompts)
        for i, prompt in enumerate(PROMPTS[:3]):
            ids = torch.tensor([encode(prompt)])
            with torch.no_grad():
                want = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=width,
                                      length_penalty=penalty, repetition_penalty=repetition, max_new_tokens=length,
                                      num_return_sequences=samples, pad_token_id=end, return_dict_in_generate=True,
                                      output_scores=True)
            for k in range(samples):
                tokens = want.sequences[k, ids.shape[1]:].tolist()
                tokens = tokens[:tokens.index(end) + 1] if end in tokens else tokens
                got = results[i * samples + k]
                at = f"{prompt!r}, {width} beams, length penalty {penalty}, text {k}"
                expect(at, got["ids"], tokens)
                expect(at + ": score", abs(got["score"] - want.sequences_scores[k].item()) < 1e-3, True)
                early += tokens[-1] == end
                count += 1
    expect("texts that end early, and others", 0 < early < count, True)
    return count


def logprobs(model, folder):
    """Log probabilities of sampled tokens, and the ten most probable tokens at each place."""
    result = ours(folder, "--logprobs", "10", "--temperature", "1.5", "--repetition-penalty", "1.2", "--prompt", PROMPTS[2])[0]
    prompt = encode(PROMPTS[2])
    with torch.no_grad():
        want = torch.log_softmax(model(torch.tensor([prompt + result["ids"]])).logits[0, len(prompt) - 1:-1].double(), -1)
    most = 0.0
    for row, place in zip(want, result["logprobs"]):
        top = row.topk(10)
        expect("the ten likeliest", [t["id"] for t in place["top"]], top.indices.tolist())
        most = max([most, abs(place["logprob"] - row[place["id"]].item())]
                   + [abs(t["logprob"] - p) for t, p in zip(place["top"], top.values.tolist())])
    expect("tokens with log probabilities", [p["id"] for p in result["logprobs"]], result["ids"])
    expect(f"log probabilities, which differ by {most:.2g}", most < 1e-4, True)


def sampled(model, folder):
    """Every sampled token is one that the filters keep, and the mean probability of the samples is as expected."""
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
    # 1000 draws: the mean surprise is the mean entropy up to some hundredths
    expect(f"mean surprise {surprise / count:.3f} near entropy {entropy / count:.3f}",
           abs(surprise - entropy) / count < 0.15, True)
    expect("samples differ", len({tuple(r["ids"]) for r in results}) > 1, True)


with tempfile.TemporaryDirectory() as work:
    reference = model_folder(work)
    greedy(reference, work)
    count = penalized(reference, work)
    biased(reference, work)
    logprobs(reference, work)
    filtered(reference, work)
    sampled(reference, work)
    searched = beams(work)
print(f"generate: {len(PROMPTS) * 3 + count + 1} greedy continuations of {LENGTH} tokens, 20 samples, six filters "
      f"and {searched} texts of beam search compared, {failures} differ")
sys.exit(failures != 0)
