"""A Tokenizer as transformers' fast tokenizers are. Only Tokenizer.as_hf imports this module: it needs transformers 5."""
import os
import shutil
import tempfile

from transformers import BatchEncoding, PreTrainedTokenizerFast


class TextmillTokenizerFast(PreTrainedTokenizerFast):
    """Texts are encoded by `textmill`, a Tokenizer. What it does not have - pairs, words, offsets, texts that overflow, tokens that were
    added later, also around a text - is done by Hugging Face's tokenizers with the same vocabulary."""

    textmill = None

    def _encode_plus(self, text, text_pair=None, add_special_tokens=True, padding_strategy="do_not_pad",
                     truncation_strategy="do_not_truncate", max_length=None, return_tensors=None, verbose=True, **others):
        texts = [text] if isinstance(text, str) else text
        types = others.get("return_token_type_ids")
        pads = {name: others.get(name) for name in ("pad_to_multiple_of", "padding_side", "return_attention_mask")}
        if (self.textmill is None or text_pair is not None or not texts or not all(isinstance(t, str) for t in texts)
                or self.split_special_tokens or ("token_type_ids" in self.model_input_names if types is None else types)
                or any(others[name] for name in others.keys() - pads.keys())):
            return super()._encode_plus(text, text_pair, add_special_tokens, padding_strategy, truncation_strategy, max_length,
                                        return_tensors=return_tensors, verbose=verbose, **others)
        before, after = [ids.tolist() for ids in self.textmill._around] if add_special_tokens else ([], [])
        rows = [ids.tolist() for ids in self.textmill.encode_batch(texts, special=True)]
        if truncation_strategy != "do_not_truncate" and max_length is not None:
            room = max_length - len(before) - len(after)
            if room >= 0:  # else Hugging Face's tokenizers do not cut either
                rows = [row[:room] if self.truncation_side == "right" else row[max(len(row) - room, 0):] for row in rows]
        rows = [before + row + after for row in rows]
        for row in rows:
            self._eventual_warn_about_too_long_sequence(row, max_length, verbose)
        made = self.pad({"input_ids": rows}, padding=padding_strategy, max_length=max_length, return_tensors=return_tensors, **pads)
        single = isinstance(text, str) and return_tensors is None
        return BatchEncoding({name: rows[0] for name, rows in made.items()}) if single else made

    def _add_tokens(self, *args, **options):
        self.textmill = None
        return super()._add_tokens(*args, **options)

    def update_post_processor(self):  # add_bos_token or add_eos_token was set
        self.textmill = None
        super().update_post_processor()

    def tokenize(self, text, pair=None, add_special_tokens=False, **options):
        return self.convert_ids_to_tokens(self(text, pair, add_special_tokens=add_special_tokens, **options)["input_ids"])


def make(tokenizer, path, options):
    """Returns the Tokenizer, which was read from `path`, as a TextmillTokenizerFast. Its settings are those of the files beside `path`."""
    beside = path if os.path.isdir(path) else os.path.dirname(path)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "tokenizer.json"), "wb") as f:
            f.write(tokenizer._json())
        for name in "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja":
            if os.path.exists(os.path.join(beside, name)):
                shutil.copy(os.path.join(beside, name), folder)
        if tokenizer.end_of_text is not None and not os.path.exists(os.path.join(folder, "tokenizer_config.json")):
            options = {"eos_token": tokenizer.token(tokenizer.end_of_text).decode(), **options}
        made = TextmillTokenizerFast.from_pretrained(folder, **options)
    same = all(tokenizer.encode(str(token), special=True).tolist() == [id] for id, token in made.added_tokens_decoder.items())
    made.textmill = tokenizer if same and made.encode("a") == tokenizer.encode("a", wrap=True).tolist() else None
    return made
