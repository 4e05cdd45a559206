/* command.c - a rung's command: its words, the files that are sent with it, and its program's limits. */
#include <dirent.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/conf/draft.h"
#include "common/model/kit.h"

static const struct conf_file_kind file_kind = { "file", "", "" };

static const char *const demand_names[DEMANDS_MAX] = { "recompilations", "fallbacks", "reads_per_step", "step_ms" };

/* ---- words ---- */

static bool is_file_word (struct text word)
{
    return text_starts (word, "./") || text_starts (word, "../");
}

/* Other relative paths with a slash would depend on the program's working folder. */
static bool command_is_program (struct text word)
{
    return word.len > 0 && word.ptr[0] != '-' &&
           (word.ptr[0] == '/' || !memchr (word.ptr, '/', word.len) || is_file_word (word));
}

static bool is_value (struct draft *draft, const struct yaml_node *word, const char *of)
{
    bool good = word->kind == YAML_SCALAR && !yaml_is_null (word);
    if (!good)
        problem_at (draft->problems, word, "a word of %s is %s, expected a single value", of,
                    word->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (word->kind));
    return good;
}

static int command_read_words (struct draft *draft, const struct yaml_node *list, struct rung *rung)
{
    uint32_t errors_before = draft->problems->errors;
    if (list->n == 0 || list->n > ARGV_MAX)
        return problem_at (draft->problems, list, "a command of %u words, expected 1 to %d", list->n, ARGV_MAX);
    rung->argv.items = arena_array (draft->arena, list->n, sizeof *rung->argv.items);
    for (const struct yaml_node *word = list->first; word; word = word->next)
        if (is_value (draft, word, "a command"))
            rung->argv.items[rung->argv.n++] = word->text;
    const struct yaml_node *first = list->first;
    if (first->kind == YAML_SCALAR && !yaml_is_null (first) && !command_is_program (first->text))
        problem_at (draft->problems, first,
                    "the command is %s, expected a name on the PATH, an absolute path, or a file beside the ladder "
                    "file as ./NAME",
                    problem_quote (draft->problems, first->text));
    return draft->problems->errors == errors_before ? 0 : -1;
}

/* ---- files ---- */

static int command_add_file (struct draft *draft, const struct yaml_node *at, struct kit_sources *files)
{
    if (files->n == KIT_FILES_MAX)
        return problem_at (draft->problems, at, "the command and its files name more than %d files", KIT_FILES_MAX);
    if (source_read (&files->items[files->n], &file_kind, draft->options->share_dir, at, draft->problems) != 0)
        return -1;
    draft_note_path (draft, files->items[files->n++].shown);
    return 0;
}

/* Reports a script whose first line the system cannot use: it would not start on any host. */
static void check_program (struct draft *draft, const struct yaml_node *at, const struct source *program)
{
    enum { LOOKED_AT_BYTES = 512 };
    struct text rest = text_clip (program->bytes, LOOKED_AT_BYTES), first = rest;
    bool script = text_starts (rest, "#!"), text = !memchr (rest.ptr, '\0', rest.len);
    first = text_take_until (&rest, '\n');
    if (script && first.ptr[first.len - 1] == '\r')
        problem_at (
            draft->problems, at,
            "the first line of %s ends in a carriage return (CR LF), so no host finds its interpreter; expected "
            "line ends of a line feed: dos2unix",
            program->shown);
    else if (!script && text)
        problem_at (draft->problems, at,
                    "%s has no first line such as #!/bin/sh, so no host knows how to run it; expected one, or its "
                    "interpreter as the first word of the command",
                    program->shown);
    else if (draft->plan.launcher == LAUNCHER_LOCAL && access (program->shown, X_OK) != 0)
        problem_at (draft->problems, at, "%s is not executable: chmod +x it, or begin the command with its interpreter",
                    program->shown);
}

/* Writes a word that names a file as "./" and the file's name in the kit, which the host looks up. */
static void name_words (struct draft *draft, const struct yaml_node *list, const struct kit_sources *files,
                        struct rung *rung)
{
    uint32_t i = 0, file = 0;
    for (const struct yaml_node *word = list->first; word; word = word->next, i++)
        if (is_file_word (word->text)) {
            struct text path = files->items[file++].ref.path;
            for (uint32_t k = 0; k < rung->files.n; k++)
                if (text_equal (rung->files.items[k].file.path, path))
                    rung->argv.items[i] = text_format (draft->arena, "./%.*s", TEXT_ARG (rung->files.items[k].name));
        }
}

/* Does code, not a comment, name `shaped` of sliceup_program, or `shapes` of the attempt line? */
static bool asks_for_shapes (struct text code)
{
    while (code.len) {
        struct text rest = text_take_until (&code, '\n'), line = text_take_until (&rest, '#');
        for (uint32_t i = 0, n; i < line.len; i += n + 1) {
            n = text_span ((struct text){ line.ptr + i, line.len - i }, "_");
            struct text word = { line.ptr + i, n };
            if (text_is (word, "shaped") || text_is (word, "shapes"))
                return true;
        }
    }
    return false;
}

static void check_shapes (struct draft *draft, const struct yaml_node *words, const struct kit_sources *files)
{
    const struct profile *profile = &draft->plan.profile;
    bool asks = profile->shapes.n == 0 || draft->problems->errors; /* whose sizes may be the mistake */
    for (const struct yaml_node *word = words->first; word; word = word->next)
        asks = asks || asks_for_shapes (word->text);
    for (uint32_t i = 0; i < files->n; i++)
        asks = asks || asks_for_shapes (files->items[i].bytes);
    if (!asks)
        warning_at (draft->problems, words,
                    "the profile limits the sizes of %.*s, and no file of this command asks for them, so nothing keeps "
                    "its program to them: let it call shaped () of sliceup_program before it compiles",
                    TEXT_ARG (profile->shapes.items[0].name));
}

/* ---- a folder, and what lies beside a program without one ---- */

static void read_workdir (struct draft *draft, const struct conf_value *workdir, const char *top, struct rung *rung)
{
    struct text path = workdir->given ? workdir->text : (struct text){ 0 };
    while (text_starts (path, "./"))
        text_skip (&path, 2);
    rung->workdir = text_is (path, ".") ? (struct text){ 0 } : path;
    if (rung->workdir.len && path.ptr[0] != '/' &&
        (!top || !kit_name_is_good (path) ||
         access (text_format (draft->arena, "%s/%.*s", top, TEXT_ARG (path)).ptr, X_OK)))
        problem_at (draft->problems, workdir->node,
                    "workdir is %s, expected an absolute path on the hosts, or a path below the rung's `folder`",
                    problem_quote (draft->problems, workdir->text));
}

/* Lists what a failed program may have looked for: all there but what is hidden, as far as it has room. */
static void list_beside (struct draft *draft, const char *path, struct rung *rung)
{
    struct dirent **entries = NULL;
    uint32_t bytes = 0;
    rung->beside.items = arena_array (draft->arena, BESIDE_MAX, sizeof (struct text));
    for (int i = 0, n = scandir (path, &entries, NULL, alphasort); i < n; free (entries[i++])) {
        struct text name = text_of (entries[i]->d_name);
        if (name.ptr[0] != '.' && name_is_good (name) && rung->beside.n < BESIDE_MAX &&
            (bytes += name.len) <= BESIDE_BYTES_MAX)
            rung->beside.items[rung->beside.n++] = text_copy (draft->arena, source_stem (name, ".py"));
    }
    free (entries);
}

/* Without a folder the program begins in an empty one. */
static void find_beside (struct draft *draft, const struct yaml_node *words, const struct kit_sources *files,
                         struct rung *rung)
{
    const char *file = files->n ? files->items[0].ref.path.ptr : words->file;
    if (files->n || text_starts (path_name (rung->argv.items[0]), "python"))
        list_beside (draft, source_beside (draft->arena, file, TEXT_LIT (".")), rung);
    for (const struct yaml_node *word = words->first->next; word && !rung->workdir.len; word = word->next) {
        struct text name = { word->text.ptr, text_span (word->text, "_-") };
        if (name.len < word->text.len && rung_lacks (rung, name)) /* "pkg.train", "train.py", "configs/base.json" */
            warning_at (draft->problems, word,
                        "%.*s lies beside the ladder file and is not copied to hosts, expected the rung's key folder: "
                        "., or ./ before a file",
                        TEXT_ARG (name));
    }
}

static void read_files (struct draft *draft, const struct conf_value of[], struct rung *rung)
{
    struct kit_sources files = { .items = arena_array (draft->arena, KIT_FILES_MAX, sizeof *files.items) };
    const struct yaml_node *words = of[RUNG_COMMAND].node, *more = of[RUNG_FILES].node;
    bool unread = text_starts (path_name (rung->argv.items[0]), "python"); /* a Python program of the host's own */
    bool reports = rung->demands.n || rung->backend.len || rung->metrics.n;
    const char *top = NULL;
    if (of[RUNG_FOLDER].given && draft_command_kit (draft, words, &files, reports || unread, rung) == 0)
        top = of[RUNG_FOLDER].good ? draft_folder (draft, of[RUNG_FOLDER].node, rung) : NULL;
    read_workdir (draft, &of[RUNG_WORKDIR], top, rung);
    if (of[RUNG_FOLDER].given && of[RUNG_FILES].given)
        problem_at (draft->problems, more, "files are given beside a folder, expected one of the two");
    if (of[RUNG_FOLDER].given) /* words stay as they are: the program begins in the copy, as a shell would here */
        return;
    for (const struct yaml_node *word = words->first; word; word = word->next)
        if (is_file_word (word->text) && command_add_file (draft, word, &files) < 0)
            return;
    if (is_file_word (words->first->text))
        check_program (draft, words->first, &files.items[0]);
    for (const struct yaml_node *file = of[RUNG_FILES].given ? more->first : NULL; file; file = file->next) {
        if (!is_value (draft, file, "files"))
            return;
        if (!is_file_word (file->text)) {
            problem_at (draft->problems, file, "the file is %s, expected a path relative to the ladder file: ./%.*s",
                        problem_quote (draft->problems, file->text), TEXT_ARG (file->text));
            return;
        }
        if (command_add_file (draft, file, &files) < 0)
            return;
    }
    check_shapes (draft, words, &files);
    find_beside (draft, words, &files, rung);
    for (uint32_t i = 0; i < files.n; i++)
        unread = unread && !text_ends (files.items[i].ref.path, ".py");
    reports = reports || unread;
    if ((files.n || reports) && draft_command_kit (draft, words, &files, reports, rung) == 0)
        name_words (draft, words, &files, rung);
}

/* ---- demands ---- */

int draft_number (struct draft *draft, const struct yaml_node *node, const char *what, const char *expected,
                  double least, double most, double *number)
{
    char text[32], *end = text;
    bool fits = node->kind == YAML_SCALAR && node->text.len && text_to_c (node->text, text, sizeof text);
    *number = fits ? strtod (text, &end) : -1;
    if (fits && *end == 0 && *number >= least && *number <= most && strspn (text, "0123456789.e-") == strlen (text))
        return 0;
    return problem_at (draft->problems, node, "%s is %s, expected %s", what,
                       problem_quote_value (draft->problems, node), expected);
}

void draft_floors (struct draft *draft, const struct conf_value *map, struct text of, floor_list *floors)
{
    if (!map->given || !map->good)
        return;
    if (map->node->n > FLOORS_MAX)
        problem_at (draft->problems, map->node, "min has %u names, expected at most %d", map->node->n, FLOORS_MAX);
    floors->items = arena_array (draft->arena, map->node->n, sizeof *floors->items);
    for (const struct yaml_node *key = map->node->first; key && floors->n < FLOORS_MAX; key = key->next) {
        struct floor *floor = &floors->items[floors->n];
        *floor = (struct floor){ .name = key->text,
                                 .of = text_format (draft->arena, "min of %.*s (%s:%u)", TEXT_ARG (of), key->file,
                                                    key->line) };
        if (!name_is_good (key->text))
            problem_at (draft->problems, key,
                        "min has the name %s, expected what follows number. in a receipt, such as speed.memory_gbs",
                        problem_quote (draft->problems, key->text));
        else if (draft_number (draft, key->value, "a floor", "a number of at least 0, such as 60", 0, DBL_MAX,
                               &floor->least) == 0)
            floors->n++;
    }
}

static void read_demands (struct draft *draft, const struct conf_value *at_most, struct rung *rung)
{
    if (!at_most->given || !at_most->good)
        return;
    if (at_most->node->n == 0)
        problem_at (draft->problems, at_most->node, "at_most is empty, expected at least one of %s, %s, %s and %s",
                    demand_names[0], demand_names[1], demand_names[2], demand_names[3]);
    rung->demands.items = arena_array (draft->arena, DEMANDS_MAX, sizeof *rung->demands.items);
    for (const struct yaml_node *key = at_most->node->first; key; key = key->next) {
        uint32_t i = 0;
        while (i < DEMANDS_MAX && !text_is (key->text, demand_names[i]))
            i++;
        double most;
        if (i == DEMANDS_MAX)
            problem_unknown (draft->problems, key, "limit of at_most", "", demand_names, DEMANDS_MAX);
        else if (draft_number (draft, key->value, "a limit of at_most", "a number of at least 0, such as 0", 0, DBL_MAX,
                               &most) == 0 &&
                 rung->demands.n < DEMANDS_MAX)
            rung->demands.items[rung->demands.n++] = (struct demand){ text_of (demand_names[i]), most };
    }
}

/* A frontend's own report has the demanded counters, so it is read by default. */
static void read_report (struct draft *draft, const struct yaml_node *at, struct rung *rung)
{
    const char *report = draft->frontend ? draft->frontend->report : NULL;
    if (rung->demands.n && report && !rung->parse.len)
        rung->parse = text_of (report);
    for (uint32_t i = 0; i < rung->demands.n && !report && !rung->parse.len; i++)
        if (!text_is (rung->demands.items[i].what, demand_names[0]) &&
            !text_is (rung->demands.items[i].what, demand_names[3]))
            problem_at (draft->problems, at,
                        "at_most limits %.*s with the frontend %s, expected it only with torch_xla: no other framework "
                        "counts them",
                        TEXT_ARG (rung->demands.items[i].what), draft->frontend ? draft->frontend->name : "of none");
}

/* ---- the rung ---- */

void draft_command (struct draft *draft, const struct conf_value of[], struct rung *rung)
{
    static const int only[] = { RUNG_FILES, RUNG_FOLDER, RUNG_WORKDIR, RUNG_AT_MOST, RUNG_SAME };
    const struct conf_value *command = &of[RUNG_COMMAND];
    for (size_t i = 0; i < sizeof only / sizeof only[0] && rung->kind != PROGRAM_COMMAND; i++)
        if (of[only[i]].given)
            problem_at (draft->problems, of[only[i]].node,
                        "%s is set for a rung without a command, expected it only with a command",
                        rung_section.keys[only[i]].name);
    if (rung->kind != PROGRAM_COMMAND || !command->good || command_read_words (draft, command->node, rung) < 0)
        return;
    read_demands (draft, &of[RUNG_AT_MOST], rung);
    read_report (draft, of[RUNG_AT_MOST].node, rung);
    rung->same_output = of[RUNG_SAME].given && of[RUNG_SAME].good;
    if (!of[RUNG_FILES].given || of[RUNG_FILES].good)
        read_files (draft, of, rung);
}
