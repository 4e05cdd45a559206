#include "cases.h"

struct cases {
    const char *path; /* in the source tree */
    struct text rest;
    uint32_t line, run_n, failed_n;
    struct test_case next;
};

static struct text cases_read (const char *path, struct arena *arena)
{
    FILE *file = fopen (path, "re");
    if (!file)
        fail_msg ("%s: %s", path, strerror (errno));
    char *bytes = arena_alloc (arena, 1 << 20);
    size_t len = fread (bytes, 1, 1 << 20, file);
    assert_int_equal (fclose (file), 0);
    assert_true (len < 1 << 20);
    return (struct text){ bytes, (uint32_t) len };
}

static struct text cases_take_line (struct cases *cases)
{
    const char *end = memchr (cases->rest.ptr, '\n', cases->rest.len);
    uint32_t len = end ? (uint32_t) (end - cases->rest.ptr) + 1 : cases->rest.len;
    struct text line = { cases->rest.ptr, len };
    cases->rest = (struct text){ cases->rest.ptr + len, cases->rest.len - len };
    cases->line++;
    return line;
}

static struct text case_trimmed (struct text text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    return text;
}

struct text case_text (const struct test_case *of, const char *name)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (text_is (of->parts[i].name, name))
            return of->parts[i].text;
    return (struct text){ 0 };
}

/* "--- name" and the lines after it, or "--- name: its only line". */
static struct case_part cases_take_part (struct cases *cases, struct text mark)
{
    uint32_t colon;
    mark = case_trimmed ((struct text){ mark.ptr + 4, mark.len - 4 });
    if (text_find (mark, TEXT_LIT (": "), &colon))
        return (struct case_part){ { mark.ptr, colon }, { mark.ptr + colon + 2, mark.len - colon - 2 } };
    struct case_part part = { mark, { cases->rest.ptr, 0 } };
    while (cases->rest.len > 0 && !text_starts (cases->rest, "--- ") && !text_starts (cases->rest, "=== "))
        part.text.len += cases_take_line (cases).len;
    return part;
}

struct text case_next_line (struct text *rest)
{
    uint32_t at = rest->len;
    struct text line = { rest->ptr, text_find (*rest, TEXT_LIT ("\n"), &at) ? at : rest->len };
    at = line.len < rest->len ? line.len + 1 : line.len;
    *rest = (struct text){ rest->ptr + at, rest->len - at };
    return line;
}

static bool case_is_wanted (struct text found, struct text want)
{
    while (found.len > 0 && want.len > 0) {
        struct text line = case_next_line (&found), wanted = case_next_line (&want);
        uint32_t begin = wanted.len - 3;
        if (wanted.len > 3 && memcmp (wanted.ptr + begin, "...", 3) == 0 && line.len > begin)
            line.len = wanted.len = begin;
        if (!text_equal (line, wanted))
            return false;
    }
    return found.len == want.len;
}

/* In a test of its own, so that nothing of one case is left to the next. */
static void cases_run_one (struct cases *cases, case_fn *run)
{
    struct test *t;
    assert_int_equal (test_set_up ((void **) &t), 0);
    struct buf *got = test_buf (t);
    struct text want = case_trimmed (case_text (&cases->next, "want"));
    run (t, &cases->next, got);
    struct text found = case_trimmed (buf_as_text (got));
    if (cases->next.title.len == 0 || !case_is_wanted (found, want)) {
        fprintf (stderr, "%s:%u: %.*s\nfound:\n%.*s\nwanted:\n%.*s\n", cases->path, cases->next.line,
                 TEXT_ARG (cases->next.title), TEXT_ARG (found), TEXT_ARG (want));
        cases->failed_n++;
    }
    cases->run_n++;
    test_tear_down ((void **) &t);
}

void cases_run (const char *name, case_fn *run)
{
    struct arena arena = { 0 };
    struct cases cases = { 0 };
    char path[512];
    snprintf (path, sizeof path, SLICEUP_SOURCE_DIR "/tests/unit/cases/%s.txt", name);
    cases.path = path;
    cases.rest = cases_read (cases.path, &arena);
    while (cases.rest.len > 0) {
        struct text line = cases_take_line (&cases);
        cases.next.line = cases.line;
        if (text_starts (line, "=== "))
            cases.next.title = case_trimmed ((struct text){ line.ptr + 4, line.len - 4 });
        if (!text_starts (line, "--- "))
            continue;
        assert_true (cases.next.n < CASE_PARTS_MAX);
        struct case_part part = cases_take_part (&cases, line);
        cases.next.parts[cases.next.n++] = part;
        if (text_is (part.name, "want")) {
            cases_run_one (&cases, run);
            cases.next.n = 0;
        }
    }
    arena_release (&arena);
    if (cases.run_n == 0)
        fail_msg ("%s has no case", path);
    if (cases.next.n > 0 || cases.failed_n > 0)
        fail_msg ("%s: %u of %u cases failed%s", path, cases.failed_n, cases.run_n,
                  cases.next.n > 0 ? ", and the last has no part `want`" : "");
}
