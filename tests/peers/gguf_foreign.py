"""GGUF files that another program writes: gguf from PyPI writes random models of transformers, with its own quantisers
and with vocabularies of SentencePiece and tokenizers. Our logits, features, ids and greedy texts equal those of these
libraries. For our own files with these vocabularies, gguf reads every key, and the keys alone give the same ids.
tests/peers/gguf.c computes our logits."""
import os
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy as np
    import sentencepiece
    import torch
    import transformers
    from gguf.quants import dequantize, quantize
    from tokenizers import ByteLevelBPETokenizer, BertWordPieceTokenizer, processors
    from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
except ImportError:
    sys.exit(77)

from lib import llamacpp
from lib.program import ROOT, build, close

TYPES = gguf.GGMLQuantizationType
KINDS = {"f32": TYPES.F32, "f16": TYPES.F16, "bf16": TYPES.BF16, "q8_0": TYPES.Q8_0, "q4_0": TYPES.Q4_0}
EXACT = 0  # OPS_F32: what the file has, made f32
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
TEXTS = ["The Moon goes around the Earth.", " two  spaces, and\nlines \n", "caf\u00e9 \u65e5\u672c \U0001f642 <s> </s> <0x41>", "1234 tokens'll be"]
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(3)
torch.set_num_threads(2)

GPT2_NAMES = {"transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
              "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
              "mlp.c_proj": "ffn_down"}
LLAMA_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
               "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
               "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
BERT_NAMES = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
              "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
              "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
              "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up",
              "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def run(*command, data=None):
    return subprocess.run(command, input=data, check=True, stdout=subprocess.PIPE).stdout


def their_name(name, names):
    stem, end = name.rsplit(".", 1)
    if stem in names:
        return f"{names[stem]}.{end}"
    parts = stem.split(".")
    layer = next(i for i, part in enumerate(parts) if part.isdigit())
    return f"blk.{parts[layer]}.{names['.'.join(parts[layer + 1:])]}.{end}"


def randomise(model):
    with torch.no_grad():  # gains away from 1, biases from 0
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.05)
    return model.eval()


def add_tensors(writer, model, names, kind, heads):
    """Writes the tensors, and sets the model's parameters to the values that the file then holds."""
    for name, p in model.named_parameters():
        if "pooler" in name:
            continue
        mine = their_name(name, names)
        turned = names is GPT2_NAMES and (".c_" in name) and p.ndim == 2
        x = p.detach().numpy().T if turned else p.detach().numpy()
        paired = heads.get(mine.split(".")[-2])
        if paired:
            x = x.reshape(paired, 2, -1, x.shape[-1]).swapaxes(1, 2).reshape(x.shape)
        type = KINDS[kind] if x.ndim == 2 and "embd" not in mine and "types" not in mine else TYPES.F32
        data = quantize(np.ascontiguousarray(x), type) if type != TYPES.F32 else np.ascontiguousarray(x)
        writer.add_tensor(mine, data, raw_dtype=type)
        x = dequantize(data, type).reshape(x.shape) if type != TYPES.F32 else x
        if paired:
            x = x.reshape(paired, -1, 2, x.shape[-1]).swapaxes(1, 2).reshape(x.shape)
        p.data = torch.tensor(np.ascontiguousarray(x.T if turned else x))


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- vocabularies ---------------------------------------------------------------------------------


def pieces():
    sentencepiece.SentencePieceTrainer.train(
        input=os.path.join(ROOT, "README.md"), model_prefix="pieces", model_type="bpe", vocab_size=700, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98, user_defined_symbols=["[X]"],
        minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_file="pieces.model")


def piece_lists(model):
    ids = range(model.vocab_size())
    types = [UNKNOWN if model.is_unknown(i) else CONTROL if model.is_control(i) else BYTE if model.is_byte(i) else
             USER if model.id_to_piece(i) == "[X]" else NORMAL for i in ids]
    return [model.id_to_piece(i) for i in ids], [model.get_score(i) for i in ids], types


def add_pieces(writer, model):
    tokens, scores, types = piece_lists(model)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    for name in "bos", "eos", "unk":
        getattr(writer, f"add_{name}_token_id")(getattr(model, f"{name}_id")())
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(True)


def word_list(vocabulary):
    def phantom(token):
        return token if token[0] == "[" and token[-1] == "]" and len(token) > 2 else token[2:] if token[:2] == "##" else "\u2581" + token
    return [phantom(token) for token, _ in sorted(vocabulary.get_vocab().items(), key=lambda item: item[1])]


def add_words(writer, vocabulary):
    tokens = word_list(vocabulary)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL if token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") else NORMAL for token in tokens])
    for name, token in (("bos", "[CLS]"), ("sep", "[SEP]"), ("unk", "[UNK]"), ("pad", "[PAD]"), ("mask", "[MASK]")):
        getattr(writer, f"add_{name}_token_id")(vocabulary.token_to_id(token))
    writer.add_token_type_count(2)


def add_bytes(writer, vocabulary):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([token for token, _ in sorted(vocabulary.get_vocab().items(), key=lambda item: item[1])])
    writer.add_token_types([NORMAL] * vocabulary.get_vocab_size())
    vocabulary.save_model(".", "bytes")
    with open("bytes-merges.txt", encoding="utf-8") as file:
        writer.add_token_merges([line for line in file.read().split("\n")[1:] if line])


def same_ids(what, path, encode):
    for text in TEXTS:
        ours = [int(i) for i in run("tokenize", "-q", "--vocab", path, "--format", "text", "--ids", "--wrap", data=text.encode()).split()]
        assert ours == encode(text), (what, text, ours, encode(text))
    print(f"{what}: the same ids of {len(TEXTS)} texts")


# ---- models ---------------------------------------------------------------------------------------


def numbers(program, path, head, weights, ids):
    np.array(ids, np.uint32).tofile("ids")
    run(program, path, str(head), str(weights), "ids", "out")
    return np.fromfile("out", np.float32).reshape(len(ids), -1)


def compare(what, program, path, model, head, ids):
    with torch.no_grad():
        out = model(torch.tensor([ids]))
    theirs = (out.last_hidden_state if head else out.logits)[0].float().numpy()
    close(f"{what}, as f32", numbers(program, path, head, EXACT, ids), theirs, 1e-4)
    # products with q8_0 and q4_0 round their other factor to 8 bits
    close(what, numbers(program, path, head, -1, ids), theirs, 0.06 if what[-2:] == "_0" else 1e-4)


def write_llama(path, kind, vocabulary):
    config = LlamaConfig(vocab_size=vocabulary.vocab_size(), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, intermediate_size=96, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=5000.0,
                         bos_token_id=1, eos_token_id=2, initializer_range=0.15)
    model = randomise(LlamaForCausalLM(config))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_block_count(2)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5000.0)
    writer.add_rope_dimension_count(16)
    add_pieces(writer, vocabulary)
    add_tensors(writer, model, LLAMA_NAMES, kind, {"attn_q": 4, "attn_k": 2})
    finish(writer)
    return model


def write_gpt2(path, kind, vocabulary):
    config = GPT2Config(vocab_size=vocabulary.get_vocab_size(), n_embd=64, n_layer=2, n_head=4, n_positions=64)
    model = randomise(GPT2LMHeadModel(config))
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_block_count(2)
    writer.add_feed_forward_length(256)
    writer.add_head_count(4)
    writer.add_layer_norm_eps(1e-5)
    add_bytes(writer, vocabulary)
    add_tensors(writer, model, GPT2_NAMES, kind, {})
    finish(writer)
    return model


def write_bert(path, kind, vocabulary):
    config = BertConfig(vocab_size=vocabulary.get_vocab_size(), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=64)
    model = randomise(BertModel(config))
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_block_count(2)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    add_words(writer, vocabulary)
    add_tensors(writer, model, BERT_NAMES, kind, {})
    finish(writer)
    return model


def greedy(path, model, vocabulary):
    """Compares the greedy texts of the file with those of transformers and SentencePiece."""
    for prompt in "The Moon", "a":
        ids = [1] + vocabulary.encode(prompt)
        out = model.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False, pad_token_id=0)[0, len(ids):].tolist()
        ours = run("generate", "-q", "--model", path, "-T", "0", "-n", "20", "--json", prompt)
        assert str(out) in ours.decode(), (prompt, out, ours)
    print("greedy texts: the ids of transformers' generate()")


# ---- our own files --------------------------------------------------------------------------------


def without_json(path):
    """Removes our own keys, so that only llama.cpp's keys describe the vocabulary, as in another program's file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data.count(b"tokenizer.huggingface.json") == 1
    with open("keys.gguf", "wb") as file:
        file.write(data.replace(b"tokenizer.huggingface.json", b"tokenizer.huggingfacX.json"))
    return "keys.gguf"


def field(reader, name):
    return reader.fields["tokenizer.ggml." + name].contents()


def same_pieces(what, model, encode, begins):
    for text in TEXTS[:2] + TEXTS[3:]:  # without the one that spells special tokens
        theirs = model.tokenize(text.encode(), add_bos=begins, special=False)
        assert theirs == encode(text), (what, text, theirs, encode(text))
    print(f"own {what}: llama.cpp gives the same ids of {len(TEXTS) - 1} texts")


def llama_by_llamacpp(path, encode):
    model = llamacpp.load(path)
    same_pieces("llama", model, encode, False)
    theirs = llamacpp.greedy(model, encode("The Moon"), 20)
    ours = run("generate", "-q", "--model", path, "-T", "0", "-n", "20", "--json", "The Moon").decode()
    assert str(theirs)[:-1] in ours, (theirs, ours)
    print("own llama: llama.cpp writes the same greedy text")


def bert_by_llamacpp(program, path, encode):
    model = llamacpp.load(path, embedding=True, pooling_type=0)
    same_pieces("bert", model, encode, True)
    theirs = np.array(model.embed(TEXTS[0], normalize=False))
    close("own bert: features by llama.cpp, whose GELU is the one with tanh, in f16",
          numbers(program, path, 1, -1, encode(TEXTS[0])), theirs, 1e-3)


def own_llama(program, vocabulary):
    model = randomise(LlamaForCausalLM(LlamaConfig(
        vocab_size=vocabulary.vocab_size() + 4, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
        max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, initializer_range=0.15)))
    model.save_pretrained("own-llama")
    run("generate", "export", "-q", "--model", "own-llama", "--vocab", "pieces.model", "-o", "own-llama.gguf")
    reader = gguf.GGUFReader("own-llama.gguf")
    for key in reader.fields.values():
        key.contents()
    tokens, scores, types = piece_lists(vocabulary)
    n = len(tokens)
    assert field(reader, "model") == "llama" and field(reader, "tokens")[:n] == tokens
    assert field(reader, "token_type") == types + [UNUSED] * 4
    ours = field(reader, "scores")[:n]
    normal = [i for i in range(n) if types[i] == NORMAL and len(tokens[i]) > 1]
    assert sorted(normal, key=lambda i: -ours[i]) == sorted(normal, key=lambda i: -scores[i]), "order of scores"
    same_ids("own SentencePiece", without_json("own-llama.gguf"), vocabulary.encode)
    same_ids("own SentencePiece, whole", "own-llama.gguf", vocabulary.encode)
    compare("own llama, f32", program, "own-llama.gguf", model, 0, vocabulary.encode(TEXTS[0]))
    if llamacpp.available():
        llama_by_llamacpp("own-llama.gguf", vocabulary.encode)


def own_bert(program, vocabulary):
    model = randomise(BertModel(BertConfig(vocab_size=vocabulary.get_vocab_size(), hidden_size=64, num_hidden_layers=2,
                                           num_attention_heads=4, intermediate_size=96, max_position_embeddings=64)))
    model.save_pretrained("own-bert")
    vocabulary.save("own-bert/tokenizer.json")
    run("generate", "export", "-q", "--model", "own-bert", "-o", "own-bert.gguf")
    reader = gguf.GGUFReader("own-bert.gguf")
    for key in reader.fields.values():
        key.contents()
    assert field(reader, "model") == "bert" and field(reader, "tokens") == word_list(vocabulary)
    assert field(reader, "seperator_token_id") == vocabulary.token_to_id("[SEP]") and field(reader, "token_type_count") == 2
    assert field(reader, "bos_token_id") == vocabulary.token_to_id("[CLS]")
    names = {their_name(name, BERT_NAMES) for name, _ in model.named_parameters() if "pooler" not in name}
    assert names == {t.name for t in reader.tensors}, names ^ {t.name for t in reader.tensors}
    same_ids("own WordPiece", without_json("own-bert.gguf"), lambda text: vocabulary.encode(text).ids)
    compare("own bert, f32", program, "own-bert.gguf", model, 1, vocabulary.encode(TEXTS[0]).ids)
    if llamacpp.available():
        bert_by_llamacpp(program, "own-bert.gguf", lambda text: vocabulary.encode(text).ids)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        program = build("gguf", work)
        text = os.path.join(ROOT, "README.md")
        sp, words, letters = pieces(), BertWordPieceTokenizer(), ByteLevelBPETokenizer()
        words.train(text, vocab_size=600, show_progress=False)
        words.post_processor = processors.BertProcessing(*((name, words.token_to_id(name)) for name in ("[SEP]", "[CLS]")))
        letters.train(text, vocab_size=500, show_progress=False)
        for kind in KINDS:
            model = write_llama("llama.gguf", kind, sp)
            compare(f"llama, {kind}", program, "llama.gguf", model, 0, [1] + sp.encode(TEXTS[0]))
            if kind == "f32":
                same_ids("SentencePiece", "llama.gguf", lambda text: [1] + sp.encode(text))
                greedy("llama.gguf", model, sp)
            model = write_gpt2("gpt2.gguf", kind, letters)
            compare(f"gpt2, {kind}", program, "gpt2.gguf", model, 0, letters.encode(TEXTS[0]).ids)
            model = write_bert("bert.gguf", kind, words)
            compare(f"bert, {kind}", program, "bert.gguf", model, 1, words.encode(TEXTS[0]).ids)
        same_ids("byte-level BPE", "gpt2.gguf", lambda text: letters.encode(text).ids)
        same_ids("WordPiece", "bert.gguf", lambda text: words.encode(text).ids)
        own_llama(program, sp)
        own_bert(program, words)


main()
