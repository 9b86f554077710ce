"""BERT in model/ beside transformers and PyTorch, in both directions: hidden states, logits and losses of random
BertModel, BertForPreTraining and BertForQuestionAnswering, exact and tanh GELU, with padding; the gradients of a
whole step; a model saved here loads there. tests/peers/bert.c runs our side."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.torch import load_file
    from transformers import (BertConfig, BertForPreTraining, BertForQuestionAnswering, BertModel, RobertaConfig, RobertaForMaskedLM,
                              RobertaModel, ModernBertConfig, ModernBertForMaskedLM, ModernBertModel)
except ImportError:
    sys.exit(77)

from lib.paths import DATA
from lib.program import build, close, stir

ENCODER, PRETRAINING, QUESTIONS = 1, 2, 3
IGNORE = -100
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(7)


def random_model(kind, **changes):
    config = dict(num_hidden_layers=3, hidden_size=96, num_attention_heads=4, intermediate_size=200,
                  max_position_embeddings=150, vocab_size=331, initializer_range=0.1,
                  hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = kind(BertConfig(**{**config, **changes})).eval()
    return stir(model)


class Batch:
    def __init__(self, lengths, T, vocabulary, types=2):
        r, B = np.random.default_rng(1), len(lengths)
        self.B, self.T, self.lengths = B, T, np.array(lengths, np.int64)
        self.mask = np.arange(T)[None] < self.lengths[:, None]
        self.ids = r.integers(0, vocabulary, (B, T)).astype(np.uint32)
        self.segments = ((np.arange(T)[None] > self.lengths[:, None] // 2) * (types - 1)).astype(np.uint32)
        some = (r.random((B, T)) < 0.2) & self.mask
        some[:, 1] = True
        self.labels = np.where(some, r.integers(0, vocabulary, (B, T)), IGNORE).astype(np.int32)
        self.next = r.integers(0, 2, B).astype(np.int32)
        self.starts = (r.integers(0, 1 << 30, B) % self.lengths).astype(np.int32)
        self.ends = (r.integers(0, 1 << 30, B) % self.lengths).astype(np.int32)

    def write(self, path):
        with open(path, "wb") as f:
            for a in (np.array([self.B, self.T], np.int64), self.lengths, self.ids, self.segments, self.labels,
                      self.next, self.starts, self.ends):
                f.write(a.tobytes())

    def inputs(self):
        t = lambda a: torch.tensor(a.astype(np.int64))
        return dict(input_ids=t(self.ids), token_type_ids=t(self.segments), attention_mask=t(self.mask))

    def targets(self, kind):
        t = lambda a: torch.tensor(a.astype(np.int64))
        if kind is BertForPreTraining:
            return dict(labels=t(self.labels), next_sentence_label=t(self.next))
        return dict(start_positions=t(self.starts), end_positions=t(self.ends))


NUMBER = {BertModel: ENCODER, RobertaModel: ENCODER, BertForPreTraining: PRETRAINING, RobertaForMaskedLM: PRETRAINING,
          BertForQuestionAnswering: QUESTIONS, ModernBertModel: ENCODER, ModernBertForMaskedLM: PRETRAINING}


def our_outputs(program, folder, number, batch, width):
    batch.write(folder + ".batch")
    subprocess.check_call([program, "logits", folder, str(number), folder + ".batch", folder + ".logits"])
    out, rows = np.fromfile(folder + ".logits", np.float32), int(batch.lengths.sum())
    return out[:rows * width].reshape(rows, width), out[rows * width:]


def outputs_agree(what, program, folder, model, kind, batch):
    """Compares the rows of real tokens. The values that transformers computes at padding have no meaning."""
    rows, V = int(batch.lengths.sum()), model.config.vocab_size
    hidden, heads = our_outputs(program, folder, NUMBER[kind], batch, model.config.hidden_size)
    with torch.no_grad():
        theirs = model(**batch.inputs(), output_hidden_states=True)
    close(f"{what}: hidden states", hidden, theirs.hidden_states[-1].numpy()[batch.mask])
    if kind is BertForPreTraining:
        close(f"{what}: words", heads[:rows * V].reshape(rows, V), theirs.prediction_logits.numpy()[batch.mask])
        close(f"{what}: next sentence", heads[rows * V:].reshape(-1, 2), theirs.seq_relationship_logits.numpy())
    if kind is BertForQuestionAnswering:
        close(f"{what}: starts", heads.reshape(rows, 2)[:, 0], theirs.start_logits.numpy()[batch.mask])
        close(f"{what}: ends", heads.reshape(rows, 2)[:, 1], theirs.end_logits.numpy()[batch.mask])


def their_loss(model, kind, batch):
    if kind is BertForPreTraining:
        return model(**batch.inputs(), **batch.targets(kind)).loss
    if batch.mask.all():
        return model(**batch.inputs(), **batch.targets(kind)).loss
    # transformers lets answers start in the padding; here a position is a real token
    out, t = model(**batch.inputs()), batch.targets(kind)
    hide = torch.tensor(~batch.mask)
    cross = torch.nn.functional.cross_entropy
    return (cross(out.start_logits.masked_fill(hide, -torch.inf), t["start_positions"]) +
            cross(out.end_logits.masked_fill(hide, -torch.inf), t["end_positions"])) / 2


def gradients_agree(what, program, folder, model, kind, batch):
    batch.write(folder + ".batch")
    subprocess.check_call([program, "gradients", folder, str(NUMBER[kind]), folder + ".batch", folder + ".out"])
    loss = their_loss(model, kind, batch)
    loss.backward()
    close(f"{what}: loss", np.fromfile(folder + ".out/loss", np.float32), loss.detach().numpy()[None], 1e-5)
    ours, worst = load_file(folder + ".out/model.safetensors"), ("", 0.0)
    largest = max(float(p.grad.abs().max()) for p in model.parameters())
    last = f"bert.encoder.layer.{model.config.num_hidden_layers - 1}.output.LayerNorm.bias"
    for name, p in model.named_parameters():
        # what adds the same to all that a softmax sees has no gradient but rounding
        nothing = name.endswith("key.bias") or kind is BertForQuestionAnswering and name in ("qa_outputs.bias", last)
        scale = largest if nothing else float(p.grad.abs().max())
        error = float((ours.pop(name) - p.grad).abs().max()) / scale
        worst = max(worst, (name, error), key=lambda w: w[1])
    assert not ours, ours.keys()
    print(f"{what}: gradients: {worst[1]:.1e} in {worst[0]} (at most 1e-04)")
    assert worst[1] <= 1e-4


def save_here(program, folder, number, out):
    return int(subprocess.check_output([program, "save", folder, str(number), out], text=True))


def ours_loads_there(what, program, folder, model, kind, batch):
    """A model saved here loads there: no tensor is missing or superfluous, and the numbers are equal."""
    assert save_here(program, folder, NUMBER[kind], folder + ".ours") == 0
    again, report = kind.from_pretrained(folder + ".ours", output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"], report
    outputs_agree(f"{what}, saved here", program, folder + ".ours", again.eval(), kind, batch)
    for (name, a), (_, b) in zip(model.named_parameters(), again.named_parameters()):
        assert torch.equal(a, b), name


def kinds_agree(program, work):
    for kind in BertForPreTraining, BertForQuestionAnswering:
        for name, changes, lengths, T in [
                ("gelu", {}, [60, 17, 3, 42], 60),
                ("full rows", {}, [50, 50], 50),
                ("gelu_new", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3}, [128, 128, 77], 128),
                ("three segments", {"type_vocab_size": 3, "num_hidden_layers": 1}, [33, 20], 40)]:
            what = f"{kind.__name__}, {name}"
            model, folder = random_model(kind, **changes), os.path.join(work, what.replace(", ", "-").replace(" ", "-"))
            model.save_pretrained(folder)
            batch = Batch(lengths, T, 331, model.config.type_vocab_size)
            outputs_agree(what, program, folder, model, kind, batch)
            gradients_agree(what, program, folder, model, kind, batch)
            ours_loads_there(what, program, folder, model, kind, batch)


def heads_change(program, work):
    """A pre-trained model is loaded for question answering: the encoder stays, and a new head is made."""
    model, folder = random_model(BertForPreTraining), os.path.join(work, "pretrained")
    model.save_pretrained(folder)
    assert save_here(program, folder, QUESTIONS, folder + ".questions") == 2
    again = BertForQuestionAnswering.from_pretrained(folder + ".questions").eval()
    for (name, a), (_, b) in zip(model.bert.encoder.named_parameters(), again.bert.encoder.named_parameters()):
        assert torch.equal(a, b), name
    again.save_pretrained(folder + ".there")
    assert save_here(program, folder + ".there", PRETRAINING, folder + ".back") == 9
    refused = subprocess.run([program, "logits", folder + ".there", str(PRETRAINING), "/dev/null", "/dev/null"],
                             stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and "no tensor 'bert.pooler.dense.weight'" in refused.stderr, refused.stderr


def robertas(program, work):
    """50 random RoBERTas: hidden states, logits of words, and folders both ways."""
    random, worst = np.random.default_rng(50), 0.0
    for i in range(50):
        heads, V, longest = int(random.integers(1, 5)), int(random.integers(50, 700)), int(random.integers(8, 80))
        config = RobertaConfig(num_hidden_layers=int(random.integers(1, 5)), num_attention_heads=heads, vocab_size=V,
                               hidden_size=heads * 4 * int(random.integers(1, 9)), intermediate_size=int(random.integers(8, 160)),
                               max_position_embeddings=longest + 2, type_vocab_size=int(random.choice([1, 1, 2])),
                               layer_norm_eps=float(random.choice([1e-5, 1e-12])), initializer_range=0.1,
                               hidden_act=str(random.choice(["gelu", "gelu_new", "relu"])))
        kind = RobertaForMaskedLM if i % 5 else RobertaModel
        model, folder = stir(kind(config).eval()), os.path.join(work, f"roberta{i}")
        model.save_pretrained(folder)
        T = int(random.integers(2, longest + 1))
        batch = Batch([T, *random.integers(1, T + 1, 2)], T, V, config.type_vocab_size)
        inputs = batch.inputs() | {"position_ids": torch.arange(2, T + 2).expand(batch.B, T)}
        with torch.no_grad():
            theirs = model(**inputs, output_hidden_states=True)
        if kind is RobertaForMaskedLM: # the pooler of a RobertaModel is no part of ours
            assert save_here(program, folder, PRETRAINING, folder + ".ours") == 0
            again, report = kind.from_pretrained(folder + ".ours", output_loading_info=True)
            assert not report["missing_keys"] and not report["unexpected_keys"], report
            assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
            folder += ".ours"
        rows = int(batch.lengths.sum())
        hidden, words = our_outputs(program, folder, NUMBER[kind], batch, config.hidden_size)
        pairs = [(hidden, theirs.hidden_states[-1].numpy()[batch.mask])]
        if kind is RobertaForMaskedLM:
            pairs.append((words.reshape(rows, V), theirs.logits.numpy()[batch.mask]))
        for ours, wanted in pairs:
            worst = max(worst, float(np.abs(ours - wanted).max() / np.abs(wanted).max()))
            assert worst < 2e-5, (i, config, worst)
    print(f"50 random RoBERTas: {worst:.1e} (at most 2e-05)")


def modernberts(program, work):
    """50 random ModernBERTs, with windows shorter than the texts: hidden states, logits of words, and folders both ways."""
    random, worst = np.random.default_rng(52), 0.0
    for i in range(50):
        heads, V, every = int(random.integers(1, 5)), int(random.integers(50, 700)), int(random.integers(1, 5))
        config = ModernBertConfig(num_hidden_layers=int(random.integers(1, 7)), num_attention_heads=heads, vocab_size=V,
                                  hidden_size=heads * 4 * int(random.integers(1, 9)), intermediate_size=int(random.integers(8, 160)),
                                  max_position_embeddings=100, local_attention=int(random.integers(0, 60)), global_attn_every_n_layers=every,
                                  rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": float(random.choice([1e4, 160000]))},
                                                   "sliding_attention": {"rope_type": "default", "rope_theta": float(random.choice([100, 1e4]))}},
                                  norm_eps=float(random.choice([1e-5, 1e-12])), initializer_range=0.1, attn_implementation="eager",
                                  hidden_activation=str(random.choice(["gelu", "gelu_new", "silu"])), pad_token_id=None,
                                  bos_token_id=None, eos_token_id=None, cls_token_id=None, sep_token_id=None)
        kind = ModernBertForMaskedLM if i % 5 else ModernBertModel
        model, folder = stir(kind(config).eval()), os.path.join(work, f"modernbert{i}")
        model.save_pretrained(folder)
        T = int(random.integers(2, 101))
        batch = Batch([T, *random.integers(1, T + 1, 2)], T, V, 1)
        inputs = {k: v for k, v in batch.inputs().items() if k != "token_type_ids"}
        with torch.no_grad():
            theirs = model(**inputs)
            hidden_there = theirs.last_hidden_state if kind is ModernBertModel else model.model(**inputs).last_hidden_state
        if kind is ModernBertForMaskedLM:
            assert save_here(program, folder, PRETRAINING, folder + ".ours") == 0
            again, report = kind.from_pretrained(folder + ".ours", output_loading_info=True)
            assert not report["missing_keys"] and not report["unexpected_keys"], report
            assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
            assert again.config.layer_types == config.layer_types and again.config.rope_parameters == config.rope_parameters
            folder += ".ours"
        rows = int(batch.lengths.sum())
        hidden, words = our_outputs(program, folder, NUMBER[kind], batch, config.hidden_size)
        pairs = [(hidden, hidden_there.numpy()[batch.mask])]
        if kind is ModernBertForMaskedLM:
            pairs.append((words.reshape(rows, V), theirs.logits.numpy()[batch.mask]))
        for ours, wanted in pairs:
            worst = max(worst, float(np.abs(ours - wanted).max() / np.abs(wanted).max()))
            assert worst < 2e-5, (i, config, worst)
    print(f"50 random ModernBERTs: {worst:.1e} (at most 2e-05)")


def shared_model(program, work):
    source, folder = os.path.join(DATA, "hf/bert-tiny-random"), os.path.join(work, "tiny")
    if not os.path.exists(source):
        print("SKIP bert-tiny-random: not there")
        return
    os.symlink(os.path.abspath(source), folder)
    model = BertModel.from_pretrained(source, add_pooling_layer=False).eval()
    batch = Batch([128, 5, 64], 128, model.config.vocab_size)
    outputs_agree("bert-tiny-random", program, folder, model, BertModel, batch)
    assert save_here(program, folder, PRETRAINING, os.path.join(work, "tiny-heads")) == 9


with tempfile.TemporaryDirectory() as scratch:
    bert = build("bert", scratch)
    kinds_agree(bert, scratch)
    heads_change(bert, scratch)
    robertas(bert, scratch)
    modernberts(bert, scratch)
    shared_model(bert, scratch)
