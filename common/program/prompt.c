#include "common/program/prompt.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/linked.h"
#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"

#define TEXT_OF(number)       #number
#define VERSION(major, minor) TEXT_OF(major) "." TEXT_OF(minor)
LINKED_LIBRARY(edit, "libedit", VERSION(LIBEDIT_MAJOR, LIBEDIT_MINOR))

struct prompt {
    const char *ask;
    EditLine *edit; /* NULL: no terminal */
    History *history;
    struct buf kept; /* path of the history file; empty: none */
    struct input in;
    size_t number; /* lines read */
};

volatile sig_atomic_t prompt_interrupted;

static void on_interrupt(int)
{
    prompt_interrupted = 1;
}

static char *ask(EditLine *edit)
{
    struct prompt *p;
    el_get(edit, EL_CLIENTDATA, &p);
    return (char *)(size_t)p->ask;
}

/* ---- history -------------------------------------------------------------------------------- */

/* Goes on without a history if its folder cannot be read: it may belong to another user. */
static int load_history(struct prompt *p)
{
    HistEvent event;
    uint64_t bytes = 1; /* also of what is no file: history refuses it */
    const int there = file_look(p->kept.data);
    if (there < 0 || (there == FILE_PLAIN && file_size(p->kept.data, &bytes) < 0)) {
        log_warn("%s; no history is kept", err_get());
        buf_clear(&p->kept);
        return 0;
    }
    if (there && bytes && history(p->history, &event, H_LOAD, p->kept.data) < 0)
        return err_set("'%s' is no history that can be read (remove it, or give --no-history)",
                       p->kept.data);
    return 0;
}

static int save_history(struct prompt *p)
{
    SCOPED(buf) dir = BUF_INIT;
    struct output out;
    HistEvent event;
    buf_add(&dir, p->kept.data, (size_t)(strrchr(p->kept.data, '/') - p->kept.data));
    if (file_mkdirs(dir.data) < 0 || output_open(&out, p->kept.data) < 0)
        return -1;
    /* Only the user may read the history; not all versions of libedit set this mode. A device is
     * written directly, without a temporary file. */
    const int failed = (out.temp && fchmod(out.fd, S_IRUSR | S_IWUSR) < 0) ||
                       history(p->history, &event, H_SAVE, out.temp ? out.temp : out.path) < 0;
    return output_end(
        &out,
        !failed ? 0 : err_set("cannot write the history '%s': %s", p->kept.data, strerror(errno)));
}

/* ---- life ----------------------------------------------------------------------------------- */

static void open_terminal(struct prompt *p, const char *program)
{
    HistEvent event;
    /* without SA_RESTART, so that a read is interrupted */
    struct sigaction action = { .sa_handler = on_interrupt };
    sigaction(SIGINT, &action, NULL);
    setlocale(LC_CTYPE, ""); /* the encoding of typed characters */
    if (MB_CUR_MAX == 1) /* locale C, as in a container: the editor would drop what is not ASCII */
        setlocale(LC_CTYPE, "C.UTF-8");
    p->edit = el_init(program, stdin, stderr, stderr);
    if (!p->edit)
        return;
    p->history = history_init();
    history(p->history, &event, H_SETSIZE, 1000);
    history(p->history, &event, H_SETUNIQUE, 1);
    el_set(p->edit, EL_CLIENTDATA, p);
    el_set(p->edit, EL_PROMPT, ask);
    el_set(p->edit, EL_EDITOR, "emacs");
    el_set(p->edit, EL_HIST, history, p->history);
    el_set(p->edit, EL_BIND, "^I", "ed-insert", NULL); /* else a pasted text loses its tabs */
    el_source(p->edit, NULL);                          /* the user's ~/.editrc */
}

static void free_prompt(struct prompt *p)
{
    if (p->edit) {
        history_end(p->history);
        el_end(p->edit);
    }
    buf_release(&p->kept);
    free(p);
}

struct prompt *prompt_open(const char *program, const char *text, int keep)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct prompt *p = mem_zalloc(1, sizeof *p);
    p->ask = text;
    buf_init(&p->kept);
    if (isatty(STDIN_FILENO))
        open_terminal(p, program);
    /* the path of the history file, by the XDG Base Directory Specification */
    if (p->edit && keep && state && *state == '/')
        buf_addf(&p->kept, "%s/textmill/%s_history", state, program);
    else if (p->edit && keep && home && *home)
        buf_addf(&p->kept, "%s/.local/state/textmill/%s_history", home, program);
    if (p->kept.len ? load_history(p) < 0 : !p->edit && input_open(&p->in, "-") < 0) {
        free_prompt(p);
        return NULL;
    }
    return p;
}

int prompt_close(struct prompt *p)
{
    if (!p)
        return 0;
    if (p->edit)
        fputc('\n', stderr); /* so that the shell's prompt starts on a new line */
    else
        input_close(&p->in);
    const int result = p->kept.len ? save_history(p) : 0;
    free_prompt(p);
    return result;
}

int prompt_interactive(const struct prompt *p)
{
    return p && p->edit;
}

int prompt_failed(const struct prompt *p)
{
    if (!prompt_interactive(p))
        return p ? err_in("<stdin>:%zu", p->number) : -1;
    log_error("%s", err_get());
    return 1;
}

static int read_terminal(struct prompt *p, const char **line, size_t *n)
{
    HistEvent event;
    int count;
    prompt_interrupted = 0;
    *line = el_gets(p->edit, &count);
    if (!*line || count <= 0 || prompt_interrupted)
        return 0;
    *n = strcspn(*line, "\r\n");
    if (*n)
        history(p->history, &event, H_ENTER, *line);
    return 1;
}

int prompt_read(struct prompt *p, const char **line, size_t *n)
{
    char *next;
    if (p->edit)
        return read_terminal(p, line, n);
    int more = input_line(&p->in, &next, n);
    const size_t mark = !p->number++ && more > 0 ? utf8_mark(next, *n) : 0;
    *n -= mark;
    *n -= more > 0 && *n && next[mark + *n - 1] == '\r';
    *line = next + mark;
    return more;
}

/* Returns 1 if the buffer has a whole line or BEGUN_MOST bytes, or no more will come; else 0. */
static int has_line(const struct input *in)
{
    enum { BEGUN_MOST = 1 << 20 };
    const size_t n = in->end - in->begin;
    return in->eof || n >= BEGUN_MOST || (n && memchr(in->data + in->begin, '\n', n));
}

int prompt_ready(struct prompt *p)
{
    struct pollfd from = { .fd = p->in.fd, .events = POLLIN };
    if (!p->edit && !has_line(&p->in) && poll(&from, 1, 0) > 0)
        input_peek(&p->in, p->in.end - p->in.begin + 1); /* prompt_read meets an error again */
    return !p->edit && has_line(&p->in);
}
