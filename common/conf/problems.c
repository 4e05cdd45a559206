#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/conf/yaml.h"

enum { QUOTED_COLUMNS = 60 };

static void problems_add (struct problem_list *problems, struct conf_problem problem, const char *format,
                          va_list values)
{
    char line[ERR_TEXT_BYTES];
    problems->errors += !problem.warning;
    if (problems->n >= PROBLEMS_MAX)
        return;
    vsnprintf (line, sizeof line, format, values);
    problem.text = text_copy (problems->arena, text_of (line)).ptr;
    problems->items = mem_room (problems->items, problems->n, &problems->capacity, 16, sizeof *problems->items);
    problems->items[problems->n++] = problem;
}

void problem_add (struct problem_list *problems, const char *file, uint32_t line, uint32_t column, const char *format,
                  ...)
{
    va_list values;
    va_start (values, format);
    problems_add (problems, (struct conf_problem){ .file = file, .line = line, .column = column }, format, values);
    va_end (values);
}

int problem_at (struct problem_list *problems, const struct yaml_node *at, const char *format, ...)
{
    va_list values;
    if (at->kind == YAML_BAD)
        return -1;
    va_start (values, format);
    problems_add (problems, (struct conf_problem){ .file = at->file, .line = at->line, .column = at->column }, format,
                  values);
    va_end (values);
    return -1;
}

void warning_at (struct problem_list *problems, const struct yaml_node *node, const char *format, ...)
{
    va_list values;
    va_start (values, format);
    struct conf_problem where = { .file = node->file, .line = node->line, .column = node->column, .warning = true };
    problems_add (problems, where, format, values);
    va_end (values);
}

const char *problem_quote (struct problem_list *problems, struct text text)
{
    struct buf buf = { .max = ERR_TEXT_BYTES };
    buf_byte (&buf, '\'');
    buf_escaped (&buf, text, QUOTED_COLUMNS);
    buf_byte (&buf, '\'');
    return buf_finish (&buf, problems->arena).ptr;
}

const char *problem_quote_value (struct problem_list *problems, const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR ? problem_quote (problems, node->text) : yaml_kind_name (node->kind);
}

static int problems_compare (const void *a, const void *b)
{
    const struct conf_problem *x = a, *y = b;
    int order = strcmp (x->file, y->file);
    order = order ? order : order_u64 (x->line, y->line);
    order = order ? order : order_u64 (x->column, y->column);
    return order ? order : strcmp (x->text, y->text);
}

/* The same problem can be found several times; it is reported once. */
static void drop_repeats (struct problem_list *problems)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < problems->n; i++)
        if (kept == 0 || problems_compare (&problems->items[kept - 1], &problems->items[i]) != 0)
            problems->items[kept++] = problems->items[i];
    problems->n = kept;
}

void conf_print_problem (const struct conf_problem *problem, struct buf *out)
{
    buf_escaped (out, text_of (problem->file), 0);
    if (problem->line)
        buf_printf (out, ":%u:%u", problem->line, problem->column);
    buf_printf (out, ": %s", problem->warning ? "warning: " : "");
    buf_escaped (out, text_of (problem->text), 0); /* it quotes the file */
}

static int first_error (const struct problem_list *problems, struct err *err)
{
    for (uint32_t i = 0; i < problems->n; i++) {
        if (problems->items[i].warning)
            continue;
        LOCAL_BUF line = { .max = ERR_TEXT_BYTES };
        conf_print_problem (&problems->items[i], &line);
        err_set (err, ERR_CONFIG, "%s", buf_c (&line));
        return -1;
    }
    return err_set (err, ERR_CONFIG, "the files have %u errors, but none is shown: the first %d problems are warnings",
                    problems->errors, PROBLEMS_MAX);
}

int problem_unknown (struct problem_list *problems, const struct yaml_node *at, const char *what, const char *where,
                     const char *const known[], uint32_t n)
{
    LOCAL_BUF list = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 0; i < n; i++)
        buf_printf (&list, "%s%s", i ? ", " : "", known[i]);
    const char *near = text_nearest (at->text, known, n);
    return problem_at (problems, at, "unknown %s %s%s, %s%s%sxpected one of %s", what,
                       problem_quote (problems, at->text), where, near ? "did you mean '" : "", near ? near : "",
                       near ? "'? E" : "e", buf_c (&list));
}

int problems_to_report (struct problem_list *problems, struct conf_report *report, struct err *err)
{
    sort_items (problems->items, problems->n, sizeof *problems->items, problems_compare);
    drop_repeats (problems);
    report->n = problems->n;
    report->items = arena_copy (problems->arena, problems->items, problems->n * sizeof *problems->items);
    int result = problems->errors == 0 ? 0 : first_error (problems, err);
    mem_free (problems->items);
    problems->items = NULL;
    return result;
}
