/*
 * chat.h - turns conversations for fine-tuning into token ids, and says which ids are labels: what
 * the assistant says, and the token that ends it.
 *
 * A line of input is a JSON object of one of two kinds:
 *
 *     {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
 *     {"prompt": "Hi", "answer": "Hello"}        or "completion" for "answer"
 *
 * A form says how they are written. Here % is the role, and <|…|> is a special token:
 *
 *     chatml    <|im_start|>%\nHello<|im_end|>\n
 *     phi4      <|im_start|>%<|im_sep|>Hello<|im_end|>
 *     llama3    <|begin_of_text|>, then <|start_header_id|>%<|end_header_id|>\n\nHello<|eot_id|>,
 *               without white space at the sides of the message
 *     nanochat  <|bos|>, then <|%_start|>Hello<|%_end|>; what the system says is put before what
 *               the user says next
 *     text      prompt, answer and end-of-text; not for messages
 *
 * In all but `text`, a prompt is the user's message, and an answer is the assistant's. A special
 * token's spelling inside a message is ordinary text. The ids are those of transformers'
 * apply_chat_template. The labels are those of its assistant_masks, if the template marks the
 * message and its end. A token is a label if it has any bytes of the message. A message with
 * "weight": 0, as files for OpenAI have it, has no labels.
 */
#pragma once

#include "tokenizer/tokenizer.h"

#define CHAT_FORMS "none|auto|chatml|phi4|llama3|nanochat|text"
enum chat_form { CHAT_NONE, CHAT_AUTO };

enum chat_use {
    CHAT_LEARN, /* a conversation without a label is an error */
    CHAT_READ,
    CHAT_ASK /* as CHAT_READ, and adds the beginning of the assistant's next message */
};

struct chat {
    const struct form *form;
    const char *name;
    const struct tokenizer *t; /* borrowed */
    /* The token between conversations: end-of-text. If there is none, or if it ends messages:
     * <|endoftext|>, <|end_of_text|> or <|bos|>; -1 without one. */
    int64_t end_of_text;
    struct buf system; /* the system's message for conversations without one; may be empty */
    enum chat_use use; /* chat_open sets CHAT_LEARN */
};

/* Appends to `text` the chat template of a vocabulary: that in it, a GGUF file; without it, that in
 * chat_template.jinja beside it; without that, the one in tokenizer_config.json; or nothing. Sets
 * *from to the name of the file. Returns 0, or -1 with an error. */
int chat_template(struct buf *text, struct buf *from, const char *vocabulary);

/* Opens form number `form` of CHAT_FORMS for the vocabulary t, which was loaded from `path`.
 * CHAT_AUTO chooses the form whose special tokens t has. If there is a chat template in the
 * vocabulary, a GGUF file, or beside it, it must be of that form, and c->system is taken from it.
 * Returns 0, or -1 with an error; then, too, chat_close must be called. */
int chat_open(struct chat *c, int form, const struct tokenizer *t, const char *path);
void chat_close(struct chat *c);

/* Appends the ids of the conversation line[0..n) to `ids`, which is empty, and the ends of its
 * spans to `spans`. Spans alternate: ids that are no labels, labels, and so on. A blank line has no
 * ids. Returns 0, or -1 with an error. */
int chat_encode(const struct chat *c, struct encoder *e, const char *line, size_t n,
                struct ids *ids, struct ids *spans);
