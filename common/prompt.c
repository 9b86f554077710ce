#include "common/prompt.h"

#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/linked.h"
#include "common/mem.h"

#define TEXT_OF(number)       #number
#define VERSION(major, minor) TEXT_OF(major) "." TEXT_OF(minor)
LINKED_LIBRARY(edit, "libedit", VERSION(LIBEDIT_MAJOR, LIBEDIT_MINOR))

struct prompt {
    const char *ask;
    EditLine *edit; /* NULL: no terminal */
    History *history;
    struct input in;
};

volatile sig_atomic_t prompt_interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    prompt_interrupted = 1;
}

static char *ask(EditLine *edit)
{
    struct prompt *p;
    el_get(edit, EL_CLIENTDATA, &p);
    return (char *)(size_t)p->ask;
}

static void open_terminal(struct prompt *p, const char *program)
{
    HistEvent event;
    struct sigaction action = { .sa_handler = on_interrupt }; /* reads end: no SA_RESTART */
    sigaction(SIGINT, &action, NULL);
    setlocale(LC_CTYPE, ""); /* the characters that are typed */
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
    el_source(p->edit, NULL); /* the user's ~/.editrc */
}

struct prompt *prompt_open(const char *program, const char *text)
{
    struct prompt *p = mem_zalloc(1, sizeof *p);
    p->ask = text;
    if (isatty(STDIN_FILENO))
        open_terminal(p, program);
    if (!p->edit && input_open(&p->in, "-") < 0) {
        free(p);
        return NULL;
    }
    return p;
}

void prompt_close(struct prompt *p)
{
    if (p && p->edit) {
        fputc('\n', stderr); /* the shell's prompt begins a line */
        history_end(p->history);
        el_end(p->edit);
    } else if (p) {
        input_close(&p->in);
    }
    free(p);
}

int prompt_interactive(const struct prompt *p)
{
    return p->edit != NULL;
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
    if (more > 0 && *n && next[*n - 1] == '\r')
        --*n;
    *line = next;
    return more;
}
