/* on_end.c - the command of a run's end: its words, its limit, and its program on this machine; and when the climb goes
 * on although something does not hold. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/conf/draft.h"

static bool is_executable (const char *path)
{
    struct stat st;
    return stat (path, &st) == 0 && S_ISREG (st.st_mode) && access (path, X_OK) == 0;
}

/* Absolute; empty: there is none. */
static struct text find_program (struct draft *draft, struct text word)
{
    struct text folder = path_folder (draft->plan.source.path);
    struct text file = text_copy (draft->arena, word);
    if (!memchr (word.ptr, '/', word.len))
        file = text_of (path_find_program (file.ptr, true, draft->arena, NULL));
    else if (word.ptr[0] != '/' && folder.len)
        file = text_format (draft->arena, "%.*s/%.*s", TEXT_ARG (folder), TEXT_ARG (word));
    return text_starts (file, "/") && is_executable (file.ptr) ? file : (struct text){ 0 };
}

static bool on_end_is_word (const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && !yaml_is_null (node) && !memchr (node->text.ptr, '\0', node->text.len);
}

static void on_end_read_words (struct draft *draft, const struct yaml_node *list, text_list *words)
{
    if (list->n == 0 || list->n > ARGV_MAX) {
        problem_at (draft->problems, list, "on_end has %u words, expected 1 to %d", list->n, ARGV_MAX);
        return;
    }
    words->items = arena_array (draft->arena, list->n, sizeof *words->items);
    for (const struct yaml_node *word = list->first; word; word = word->next)
        if (on_end_is_word (word) && (word->text.len || word != list->first))
            words->items[words->n++] = word->text;
        else
            problem_at (draft->problems, word, "a word of on_end is no single value, or names no program");
    if (words->n < list->n)
        return;
    struct text program = find_program (draft, words->items[0]);
    if (program.len == 0)
        problem_at (draft->problems, list->first,
                    "the program %s of on_end is not there, or cannot be executed; expected a name on the PATH, an "
                    "absolute path, or a file beside the slice file as ./NAME",
                    problem_quote (draft->problems, words->items[0]));
    else
        draft_note_path (draft, (words->items[0] = program).ptr);
}

void draft_on_end (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_ON_END];
    struct conf_value of[ON_END_KEYS];
    if (!given->given || !given->good || draft->options->rehearsal)
        return;
    struct on_end *on_end = &draft->plan.on_end;
    on_end->timeout_ms = ON_END_MS;
    if (given->node->kind == YAML_LIST) {
        on_end_read_words (draft, given->node, &on_end->command);
    } else if (section_read (&on_end_section, given->node, of, draft->problems) == 0) {
        on_end->timeout_ms = of[ON_END_TIMEOUT].number;
        if (of[ON_END_COMMAND].good)
            on_end_read_words (draft, of[ON_END_COMMAND].node, &on_end->command);
    }
}

/* ---- when the climb goes on although something does not hold, and when it stops the sooner ---- */

void draft_climb (struct draft *draft)
{
    const struct conf_options *options = draft->options;
    draft->plan.climb = (struct climb_policy){ options->min_hosts, options->keep_going, options->fail_fast };
    if (draft->plan.hosts.n && options->min_hosts > draft->plan.hosts.n)
        problem_add (draft->problems, "--min-hosts", 0, 0,
                     "it asks for %u hosts, expected at most %u, those of this run", options->min_hosts,
                     draft->plan.hosts.n);
}
