/* textclean - filters documents, leaves out repetitions and texts of test sets. */
#include "common/program/tool.h"
#include "textclean/commands.h"

static const struct tool_command none_command = {
    .args = "COMMAND",
    .summary = "Clean a corpus: leave out documents and parts of documents.",
};

static const struct tool_command *const commands[] = {
    &none_command,           &filter_command,
    &learn_filter_command,   &dedup_command,
    &decontaminate_command,  &language_command,
    &learn_language_command, &quality_command,
    &learn_quality_command,  NULL,
};

static const struct tool tool = {
    .name = "textclean",
    .examples = "  wikiprep dump.xml.bz2 | textclean filter | tokenize | tfwrite -o shards/\n"
                "  textclean filter --rules gopher,c4 --rejected no.jsonl -o yes.jsonl web.jsonl\n"
                "  textclean filter --list\n"
                "  textclean learn-filter -o limits.yaml ukwiki.txt\n"
                "  textclean dedup -o clean.jsonl --clusters alike.jsonl parts/\n"
                "  textclean decontaminate --against lambada.jsonl -o corpus.jsonl web.jsonl\n"
                "  textclean learn-language -o languages uk=ukwiki.txt it=itwiki.txt\n"
                "  textclean language --model languages --keep uk -o uk.jsonl web.jsonl\n"
                "  textclean learn-quality -o model --good ukwiki.txt --bad web.jsonl\n"
                "  textclean quality --model model --keep 0.1 -o best.jsonl web.jsonl\n",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
