#include "coordinator/cli/arguments.h"

#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"

enum { WORDS_MAX = 64, SAID_BYTES = 256, TITLE_BYTES = 64 };

struct reader {
    const struct cli_command *root;
    struct cli_arguments *out;
    char **argv;
    int argc, at;
    bool only_words; /* no options from here on */
    struct err *err;
};

const struct cli_command *cli_arguments_command (const struct cli_arguments *arguments)
{
    return arguments->path[arguments->depth - 1];
}

struct text cli_arguments_title (const struct cli_arguments *arguments, struct arena *arena)
{
    struct buf title = { .max = TITLE_BYTES };
    for (uint32_t i = 1; i < arguments->depth; i++)
        buf_printf (&title, " %s", arguments->path[i]->name);
    return buf_finish (&title, arena);
}

/* ---- rows ---- */

const struct cli_command *cli_find_subcommand (const struct cli_command *command, struct text name)
{
    for (uint32_t i = 0; command->subcommands && command->subcommands[i]; i++)
        if (text_is (name, command->subcommands[i]->name))
            return command->subcommands[i];
    return NULL;
}

static bool is_spelled (const struct cli_option *option, struct text spelling)
{
    struct text also = text_of (option->also);
    bool found = text_is (spelling, option->name);
    while (also.len && !found)
        found = text_equal (text_take_until (&also, ' '), spelling);
    return found;
}

static const struct cli_option *find_row (const struct cli_option *rows, struct text spelling)
{
    for (; rows && rows->name; rows++)
        if (is_spelled (rows, spelling))
            return rows;
    return NULL;
}

const struct cli_option *cli_find_option (const struct cli_arguments *arguments, struct text spelling)
{
    const struct cli_option *found = NULL;
    for (uint32_t level = arguments->depth; level > 0 && !found; level--)
        if (level == arguments->depth || !arguments->path[level - 1]->run)
            found = find_row (arguments->path[level - 1]->options, spelling);
    return found;
}

/* ---- what is wrong ---- */

static const char *arguments_nearest (const struct reader *reader, struct text word)
{
    const char *known[WORDS_MAX];
    uint32_t n = 0;
    for (uint32_t level = reader->out->depth; level > 0; level--) {
        const struct cli_command *command = reader->out->path[level - 1];
        for (const struct cli_option *row = command->options; row && row->name && n < WORDS_MAX; row++)
            known[n++] = row->name;
        if (level < reader->out->depth)
            continue;
        for (uint32_t i = 0; command->subcommands && command->subcommands[i] && n < WORDS_MAX; i++)
            known[n++] = command->subcommands[i]->name;
    }
    return text_nearest (word, known, n);
}

/* Commands that take an option of this name. */
static void add_owners (const struct cli_command *command, const char *path, struct text spelling, struct buf *out)
{
    for (uint32_t i = 0; command->subcommands && command->subcommands[i]; i++) {
        const struct cli_command *one = command->subcommands[i];
        char name[TITLE_BYTES];
        snprintf (name, sizeof name, "%s%s%s", path, path[0] ? " " : "", one->name);
        if (find_row (one->options, spelling))
            buf_printf (out, "%s%s", out->len ? ", " : "", name);
        add_owners (one, name, spelling, out);
    }
}

/* Of a word that is in the wrong place: why it may stand there; "": that is not known. */
static const char *misplaced (const struct reader *reader, bool top)
{
    const char *before = reader->at > 0 ? reader->argv[reader->at - 1] : "";
    const char *behind = reader->at + 1 < reader->argc ? reader->argv[reader->at + 1] : "";
    if (top && cli_find_subcommand (reader->root, text_of (behind)))
        return "; the command comes first";
    return before[0] && before[strlen (before) - 1] == ',' ? "; a set of hosts is one word, such as n0,n2" : "";
}

static int arguments_refuse (const struct reader *reader, const char *word)
{
    LOCAL_ARENA arena = { 0 };
    struct text rest = text_of (word), name = text_take_until (&rest, '=');
    bool top = reader->out->depth == 1;
    struct text title = cli_arguments_title (reader->out, &arena);
    LOCAL_BUF owners = { .max = SAID_BYTES };
    add_owners (reader->root, "", name, &owners);
    const char *guess = owners.len ? NULL : arguments_nearest (reader, name);
    bool command = cli_arguments_command (reader->out)->subcommands != NULL;
    const char *what = word[0] == '-' ? "unknown argument" : command ? "there is no command" : "one word too many:";
    err_set (reader->err, ERR_USAGE, "%s '%s'%s%s%s%s%s%s; see sliceup%.*s --help", what, word,
             guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "",
             owners.len ? "; it is an option of " : "", buf_c (&owners), word[0] == '-' ? "" : misplaced (reader, top),
             TEXT_ARG (title));
    return -1;
}

/* ---- reading ---- */

static int check_number (const struct reader *reader, const struct cli_option *option, const char *value)
{
    uint64_t number = 0;
    if (text_to_u64 (text_of (value), &number) && number > 0 && number <= option->most)
        return 0;
    return err_set (reader->err, ERR_USAGE, "%s %s: expected a number from 1 to %u", option->name, value, option->most);
}

static int arguments_join (const struct reader *reader, const struct cli_option *option, const char **value)
{
    const char *before = reader->out->values[option->id];
    uint32_t n = 0;
    if (!before || !option->value)
        return 0;
    if (option->repeat == REPEAT_REFUSED)
        return err_set (reader->err, ERR_USAGE, "%s is given twice: '%s' and '%s'; give it once", option->name, before,
                        *value);
    if (option->kind == KIND_HOSTS && strpbrk (*value, "!&^")) /* a set is read from left to right, as a whole */
        return err_set (reader->err, ERR_USAGE,
                        "%s is given twice, and '%s' would take hosts from '%s' as well; write both as one set",
                        option->name, *value, before);
    if (option->repeat == REPEAT_JOINED)
        *value = text_format (&reader->out->arena, "%s,%s", before, *value).ptr;
    for (uint32_t i = 0; i < reader->out->given_n; i++)
        n += reader->out->given[i].option == option;
    if (option->repeat == REPEAT_LISTED && option->most && n == option->most)
        return err_set (reader->err, ERR_USAGE, "%s is given more than %u times, the limit", option->name,
                        option->most);
    return 0;
}

static int arguments_keep (struct reader *reader, const struct cli_option *option, const char *value)
{
    struct cli_arguments *out = reader->out;
    if ((option->kind == KIND_NUMBER && check_number (reader, option, value) != 0) ||
        arguments_join (reader, option, &value) != 0)
        return -1;
    out->values[option->id] = value;
    out->given[out->given_n++] = (struct cli_given){ option, value };
    return 0;
}

static int arguments_take_option (struct reader *reader, const char *word)
{
    struct text rest = text_of (word), name = text_take_until (&rest, '=');
    const struct cli_option *option = cli_find_option (reader->out, name);
    bool attached = word[name.len] == '=';
    if (!option)
        return arguments_refuse (reader, word);
    if (!option->value)
        return attached ? err_set (reader->err, ERR_USAGE, "%s has no value", option->name)
                        : arguments_keep (reader, option, option->name);
    if (attached)
        return arguments_keep (reader, option, word + name.len + 1);
    if (reader->at + 1 == reader->argc)
        return err_set (reader->err, ERR_USAGE, "%s needs a value, %s; see --help", option->name, option->value);
    return arguments_keep (reader, option, reader->argv[++reader->at]);
}

static uint32_t operands_most (const struct cli_command *command)
{
    uint64_t most = 0;
    for (const struct cli_operand *row = command->operands; row && row->name; row++)
        most += row->most;
    return most < UINT32_MAX ? (uint32_t) most : UINT32_MAX;
}

static int arguments_take_word (struct reader *reader, const char *word)
{
    struct cli_arguments *out = reader->out;
    const struct cli_command *command = cli_arguments_command (out),
                             *next = cli_find_subcommand (command, text_of (word));
    if (next) {
        out->path[out->depth++] = next;
        return 0;
    }
    if ((command->subcommands && !command->run) || out->operands_n == operands_most (command))
        return arguments_refuse (reader, word);
    reader->only_words |= command->operands->kind == KIND_PROGRAM;
    out->operands[out->operands_n++] = word;
    out->given[out->given_n++] = (struct cli_given){ NULL, word };
    return 0;
}

/* ---- what is missing ---- */

static int check_operands (const struct reader *reader)
{
    uint32_t least = 0;
    for (const struct cli_operand *row = cli_arguments_command (reader->out)->operands; row && row->name; row++) {
        least += row->least;
        if (reader->out->operands_n < least)
            return err_set (reader->err, ERR_USAGE, "expected %s", row->name);
    }
    return 0;
}

static int arguments_check_options (const struct reader *reader)
{
    const char *const *values = reader->out->values;
    for (const struct cli_option *row = cli_arguments_command (reader->out)->options; row && row->name; row++) {
        if (row->is_required && !values[row->id])
            return err_set (reader->err, ERR_USAGE, "expected %s %s", row->name, row->value);
        for (uint32_t i = 0; row->not_with && values[row->id] && i < reader->out->given_n; i++)
            if (reader->out->given[i].option && reader->out->given[i].option->id == row->not_with)
                return err_set (reader->err, ERR_USAGE, "%s and %s exclude each other: choose one", row->name,
                                reader->out->given[i].option->name);
    }
    return 0;
}

static int check_subcommand (const struct reader *reader)
{
    const struct cli_command *const *row = cli_arguments_command (reader->out)->subcommands;
    if (!row || reader->out->depth == 1 || cli_arguments_command (reader->out)->run)
        return 0;
    LOCAL_BUF names = { .max = SAID_BYTES };
    for (; *row; row++)
        buf_printf (&names, "%s%s", names.len ? row[1] ? ", " : " or " : "", (*row)->name);
    err_set (reader->err, ERR_USAGE, "expected %s", buf_c (&names));
    return -1;
}

static int arguments_check (const struct reader *reader)
{
    const char *const *values = reader->out->values;
    LOCAL_ARENA arena = { 0 };
    if (values[CLI_HELP] || values[CLI_VERSION])
        return 0;
    if (check_subcommand (reader) == 0 && check_operands (reader) == 0 && arguments_check_options (reader) == 0)
        return 0;
    struct text title = cli_arguments_title (reader->out, &arena), why = text_format (&arena, "%s", reader->err->text);
    err_set (reader->err, ERR_USAGE, "%.*s; see sliceup%.*s --help", TEXT_ARG (why), TEXT_ARG (title));
    return -1;
}

int cli_arguments_read (const struct cli_command *root, int argc, char **argv, struct cli_arguments *out,
                        struct err *err)
{
    struct reader reader = { .root = root, .out = out, .argv = argv, .argc = argc, .err = err };
    *out = (struct cli_arguments){ .path = { root }, .depth = 1 };
    out->operands = arena_array (&out->arena, (size_t) argc + 1, sizeof *out->operands);
    out->given = arena_array (&out->arena, (size_t) argc, sizeof *out->given);
    for (reader.at = 1; reader.at < argc; reader.at++) {
        const char *word = argv[reader.at];
        if (!reader.only_words && strcmp (word, "--") == 0)
            reader.only_words = true;
        else if ((reader.only_words || word[0] != '-' || !word[1] ? arguments_take_word
                                                                  : arguments_take_option) (&reader, word) != 0)
            return -1;
    }
    return arguments_check (&reader);
}

void cli_arguments_release (struct cli_arguments *arguments)
{
    arena_release (&arguments->arena);
}

uint32_t cli_number (const struct cli_arguments *arguments, int id, uint32_t otherwise)
{
    uint64_t number = otherwise;
    if (arguments->values[id])
        (void) text_to_u64 (text_of (arguments->values[id]), &number);
    return (uint32_t) number;
}

uint32_t cli_list (const struct cli_arguments *arguments, int id, const char **out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < arguments->given_n; i++)
        if (arguments->given[i].option && arguments->given[i].option->id == id)
            out[n++] = arguments->given[i].value;
    return n;
}
