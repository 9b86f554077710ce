"""Model folders in all forms that Hugging Face's folders have had: each architecture of BERT and GPT-2, old names of
norms, with and without prefix and buffers, split, f16 and bf16, tied tensors stored twice, as safetensors and as
torch.save writes them. A folder that loads gives the hidden states that transformers computes. A folder that does not
load gives an error that names the reason."""
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    from transformers import BertConfig, BertModel, GPT2Config, GPT2Model
except ImportError:
    sys.exit(77)

from lib.program import build, close, stir

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(3)
BERTS = ["BertModel", "BertForPreTraining", "BertForMaskedLM", "BertForNextSentencePrediction",
         "BertForSequenceClassification", "BertForTokenClassification", "BertForMultipleChoice",
         "BertForQuestionAnswering"]
GPTS = ["GPT2Model", "GPT2LMHeadModel", "GPT2DoubleHeadsModel", "GPT2ForSequenceClassification",
        "GPT2ForTokenClassification", "GPT2ForQuestionAnswering"]
ENCODER, PRETRAINING, QUESTIONS = 1, 2, 3
V, C, T = 97, 48, 20


def random_bert(architecture):
    return stir(getattr(transformers, architecture)(BertConfig(
        vocab_size=V, hidden_size=C, num_hidden_layers=2, num_attention_heads=4, intermediate_size=80,
        max_position_embeddings=32, initializer_range=0.1)))


def random_gpt(architecture, **changes):
    return stir(getattr(transformers, architecture)(GPT2Config(
        vocab_size=V, n_embd=C, n_layer=2, n_head=4, n_positions=32, initializer_range=0.1, bos_token_id=0,
        eos_token_id=0, pad_token_id=0, **changes)))


def rewrite(folder, change):
    """Writes model.safetensors with the tensors that `change` returns for a dictionary of tensors."""
    path = os.path.join(folder, "model.safetensors")
    tensors = change(dict(load_file(path)))
    save_file({name: t.contiguous().clone() for name, t in tensors.items()}, path, {"format": "pt"})


def reconfigure(folder, **changes):
    path = os.path.join(folder, "config.json")
    config = {**json.load(open(path)), **changes}
    json.dump({k: v for k, v in config.items() if v != "absent"}, open(path, "w"))


IDS = np.random.default_rng(4).integers(0, V, T).astype(np.uint32)


def bert_states(program, folder, number=ENCODER, more=0):
    """Returns the hidden states, or as many numbers after them."""
    with open(folder + ".batch", "wb") as f:
        none = np.full(T, -100, np.int32)
        for a in (np.array([1, T, T], np.int64), IDS, np.zeros(T, np.uint32), none, *3 * [none[:1]]):
            f.write(a.tobytes())
    subprocess.run([program, "logits", folder, str(number), folder + ".batch", folder + ".out"], check=True,
                   stderr=subprocess.PIPE, text=True)
    out = np.fromfile(folder + ".out", np.float32)
    return out[T * C:T * C + more] if more else out[:T * C].reshape(T, C)


def gpt_logits(program, folder):
    IDS.tofile(folder + ".ids")
    subprocess.run([program, "logits", folder, folder + ".ids", folder + ".out"], check=True,
                   stderr=subprocess.PIPE, text=True)
    return np.fromfile(folder + ".out", np.float32).reshape(T, V)


def theirs(model, kind):
    """Returns what the base model computes; for GPT-2, the logits of its tied decoder."""
    base = model if isinstance(model, kind) else getattr(model, model.base_model_prefix)
    with torch.no_grad():
        hidden = base(torch.tensor(IDS.astype(np.int64))[None]).last_hidden_state[0].float()
        return (hidden @ base.wte.weight.T.float() if kind is GPT2Model else hidden).numpy()


def refused(what, words, run, *arguments):
    try:
        run(*arguments)
    except subprocess.CalledProcessError as e:
        assert all(word in e.stderr for word in words), (what, e.stderr)
        print(f"{what}: refused, {e.stderr.strip().split(': ', 1)[-1]}")
        return
    raise AssertionError(f"{what}: not refused")


OLD = [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")]


def old_names(tensors):
    for new, old in OLD:
        tensors = {name.replace(new, old): t for name, t in tensors.items()}
    return tensors


def without(prefix):
    return lambda tensors: {name.removeprefix(prefix): t for name, t in tensors.items()}


def plus(**more):
    return lambda tensors: {**tensors, **{name.replace("__", "."): t for name, t in more.items()}}


def every_architecture(program, work, names, make, kind, ours):
    for architecture in names:
        model, folder = make(architecture), os.path.join(work, architecture)
        model.save_pretrained(folder)
        close(architecture, ours(program, folder), theirs(model, kind))


def every_precision(program, work, name, make, kind, ours):
    for dtype in torch.float16, torch.bfloat16:
        model = make(name).to(dtype)
        folder = os.path.join(work, f"{name}-{dtype}")
        model.save_pretrained(folder, max_shard_size="40KB")
        assert os.path.exists(os.path.join(folder, "model.safetensors.index.json"))
        close(f"{name}, {dtype}, split", ours(program, folder), theirs(model.float(), kind))


def forms_of_bert(program, work):
    model, folder = random_bert("BertForPreTraining"), os.path.join(work, "forms")
    want = theirs(model, BertModel)
    words = model.bert.embeddings.word_embeddings.weight.detach()
    tied = plus(cls__predictions__decoder__weight=words,
                cls__predictions__decoder__bias=model.cls.predictions.bias.detach())
    untied = plus(cls__predictions__decoder__weight=words + 1, cls__predictions__decoder__bias=torch.arange(V) / V)
    buffers = plus(bert__embeddings__position_ids=torch.arange(32)[None],
                   bert__embeddings__token_type_ids=torch.zeros(1, 32, dtype=torch.long))
    for what, change in [("gamma and beta", old_names), ("without bert.", without("bert.")),
                         ("gamma and beta without bert.", lambda t: without("bert.")(old_names(t))),
                         ("buffers", buffers), ("a tied decoder", tied), ("all of it", lambda t: tied(buffers(old_names(t))))]:
        model.save_pretrained(folder)
        rewrite(folder, change)
        for number in ENCODER, PRETRAINING:
            close(f"BERT with {what}, {number}", bert_states(program, folder, number), want)
    model.save_pretrained(folder)
    rewrite(folder, untied)
    reconfigure(folder, tie_word_embeddings=False)
    close("BERT with an untied decoder, for questions", bert_states(program, folder), want)
    scores = bert_states(program, folder, PRETRAINING, T * V)
    apart = transformers.BertForPreTraining.from_pretrained(folder)
    with torch.no_grad():
        close("BERT with an untied decoder", scores.reshape(T, V),
              apart(torch.tensor(IDS.astype(np.int64))[None]).prediction_logits[0])
    reconfigure(folder, tie_word_embeddings=True)
    refused("a decoder of its own", ["cls.predictions.decoder.", "ties"], bert_states, program, folder, PRETRAINING)
    model.save_pretrained(folder)
    rewrite(folder, lambda t: {**t, **old_names(t)})
    refused("both names", ["' is there twice, as '"], bert_states, program, folder)
    model.save_pretrained(folder)
    reconfigure(folder, model_type="absent", architectures="absent", dtype="absent")
    close("BERT without model_type", bert_states(program, folder), want)
    for changes, named in [({"model_type": "roberta"}, "pad_token_id"), ({"is_decoder": True}, "is_decoder"),
                           ({"hidden_act": "mish"}, "mish"),
                           ({"position_embedding_type": "relative_key"}, "relative_key")]:
        model.save_pretrained(folder)
        reconfigure(folder, **changes)
        refused(str(changes), ["config.json", named], bert_states, program, folder)


def forms_of_gpt(program, work):
    model, folder = random_gpt("GPT2LMHeadModel"), os.path.join(work, "gpt-forms")
    want = theirs(model, GPT2Model)
    buffers = plus(transformer__h__0__attn__bias=torch.ones(1, 1, 32, 32, dtype=torch.uint8),
                   transformer__h__1__attn__masked_bias=torch.tensor(-1e4))
    tied = plus(lm_head__weight=model.transformer.wte.weight.detach())
    untied = plus(lm_head__weight=model.transformer.wte.weight.detach() * 2)
    for what, change in [("without transformer.", without("transformer.")), ("buffers", buffers),
                         ("a tied lm_head", tied),
                         ("all of it", lambda t: without("transformer.")(tied(buffers(t))))]:
        model.save_pretrained(folder)
        rewrite(folder, change)
        close(f"GPT-2 with {what}", gpt_logits(program, folder), want)
    model.save_pretrained(folder)
    rewrite(folder, untied)
    refused("an lm_head of its own", ["lm_head.weight", "ties"], gpt_logits, program, folder)
    reconfigure(folder, tie_word_embeddings=False)
    close("GPT-2 with an untied lm_head", gpt_logits(program, folder), want * 2)
    for changes in [dict(activation_function=name) for name in ("gelu", "relu", "silu", "gelu_fast")] + [
            dict(scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True), dict(scale_attn_weights=False)]:
        model = random_gpt("GPT2LMHeadModel", **changes)
        model.save_pretrained(folder)
        close(f"GPT-2 with {changes}", gpt_logits(program, folder), theirs(model, GPT2Model))
    want = theirs(model, GPT2Model)
    positions = {"n_positions": "absent", "max_position_embeddings": 32}
    reconfigure(folder, **positions)
    close(f"GPT-2 with {positions}", gpt_logits(program, folder), want)
    rewrite(folder, lambda tensors: {name: t.double() for name, t in tensors.items()})
    close("GPT-2 in F64", gpt_logits(program, folder), want)
    model.save_pretrained(folder)
    reconfigure(folder, model_type="absent")
    close("GPT-2 without model_type", gpt_logits(program, folder), want)


def pickled(folder, tensors, shards=1):
    """Writes the folder with its weights as torch.save writes them, in one file or in several with an index."""
    for name in os.listdir(folder):
        if name.startswith(("model.safetensors", "pytorch_model")):
            os.remove(os.path.join(folder, name))
    if shards == 1:
        return torch.save(tensors, os.path.join(folder, "pytorch_model.bin"))
    where = {name: f"pytorch_model-{i % shards + 1:05}-of-{shards:05}.bin" for i, name in enumerate(tensors)}
    for file in set(where.values()):
        torch.save({name: t for name, t in tensors.items() if where[name] == file}, os.path.join(folder, file))
    with open(os.path.join(folder, "pytorch_model.bin.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": 0}, "weight_map": where}, f)


def transposed(tensors):
    """Returns the same values in column-major order, as in models that were converted from TensorFlow."""
    return {name: t.t().contiguous().t() if t.dim() == 2 else t for name, t in tensors.items()}


def one_storage(tensors):
    """Returns the tensors as views of one storage, one after the other."""
    flat, at, out = torch.cat([t.flatten() for t in tensors.values()]), 0, {}
    for name, t in tensors.items():
        out[name] = flat[at:at + t.numel()].view(t.shape)
        at += t.numel()
    return out


def distilbert(program, work):
    """DistilBERT as a base model and with heads. The model for question answering gives the same starts and ends."""
    config = transformers.DistilBertConfig(vocab_size=V, dim=C, n_layers=2, n_heads=4, hidden_dim=80,
                                           max_position_embeddings=32, initializer_range=0.1, qa_dropout=0.3)
    ids = torch.tensor(IDS.astype(np.int64))[None]
    for name in "DistilBertModel", "DistilBertForMaskedLM", "DistilBertForQuestionAnswering":
        model, folder = stir(getattr(transformers, name)(config)), os.path.join(work, name)
        model.save_pretrained(folder)
        close(name, bert_states(program, folder), theirs(model, transformers.DistilBertModel))
    with torch.no_grad():
        out = model(ids)
    spans = torch.stack([out.start_logits[0], out.end_logits[0]], -1)
    close("DistilBERT for questions", bert_states(program, folder, QUESTIONS, 2 * T).reshape(T, 2), spans)
    subprocess.run([program, "save", folder, str(QUESTIONS), folder + "-saved"], check=True, stdout=subprocess.DEVNULL)
    again, report = transformers.DistilBertForQuestionAnswering.from_pretrained(folder + "-saved", output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"], report
    assert again.config.qa_dropout == 0.3, again.config
    with torch.no_grad():
        close("DistilBERT saved here", again.eval()(ids).start_logits, out.start_logits)


def pickles(program, work, name, make, kind, ours):
    """Weights as torch.save writes them: states of modules with their versions, tied tensors that share a storage,
    dictionaries, parameters; f32, f16 and bf16; split; column-major; in one storage."""
    folder = os.path.join(work, "pickled")
    for dtype in torch.float32, torch.float16, torch.bfloat16:
        model = make(name).to(dtype)
        model.save_pretrained(folder)
        state, want = model.state_dict(), None
        forms = [("a module's state", state), ("parameters", dict(model.named_parameters())),
                 ("columns", transposed(state)), ("one storage", one_storage(state)), ("shards", state)]
        for what, tensors in forms:
            pickled(folder, tensors, 3 if what == "shards" else 1)
            got = ours(program, folder)
            want = theirs(model.float(), kind) if want is None else want
            close(f"{name} pickled, {dtype}, {what}", got, want)
            model.to(dtype)


def no_safetensors(bert, gpt, work):
    for program, run, make in (bert, bert_states, random_bert("BertModel")), (gpt, gpt_logits, random_gpt("GPT2Model")):
        folder = os.path.join(work, "none-" + os.path.basename(program))
        make.save_pretrained(folder)
        path = os.path.join(folder, "model.safetensors")
        os.rename(path, os.path.join(folder, "tf_model.h5"))
        refused("tf_model.h5", ["tf_model.h5", "save_pretrained"], run, program, folder)
        pickle = os.path.join(folder, "pytorch_model.bin")
        torch.save(make.state_dict(), pickle, _use_new_zipfile_serialization=False)
        refused("torch before 1.6", ["before 1.6", "save it again"], run, program, folder)
        torch.save(make, pickle)
        refused("a module", ["pytorch_model/data.pkl: byte ", "refers to 'transformers."], run, program, folder)
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", 4) + b"{}  ")
        refused("an empty file", ["no tensor '"], run, program, folder)


with tempfile.TemporaryDirectory() as scratch:
    bert, gpt = build("bert", scratch), build("gpt", scratch)
    every_architecture(bert, scratch, BERTS, random_bert, BertModel, bert_states)
    every_architecture(gpt, scratch, GPTS, random_gpt, GPT2Model, gpt_logits)
    every_precision(bert, scratch, "BertForPreTraining", random_bert, BertModel, bert_states)
    every_precision(gpt, scratch, "GPT2LMHeadModel", random_gpt, GPT2Model, gpt_logits)
    forms_of_bert(bert, scratch)
    forms_of_gpt(gpt, scratch)
    distilbert(bert, scratch)
    pickles(bert, scratch, "BertForPreTraining", random_bert, BertModel, bert_states)
    pickles(gpt, scratch, "GPT2LMHeadModel", random_gpt, GPT2Model, gpt_logits)
    no_safetensors(bert, gpt, scratch)
