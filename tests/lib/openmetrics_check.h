/* openmetrics_check.h - reads the series of a run, stricter than Prometheus does: for tests and a fuzzer. */
#ifndef SLICEUP_TESTS_OPENMETRICS_CHECK_H
#define SLICEUP_TESTS_OPENMETRICS_CHECK_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/picture/metrics.h"

enum { OPENMETRICS_LINES = 10000 };

static inline const char *openmetrics_past (const char *at, const char *what)
{
    assert (strncmp (at, what, strlen (what)) == 0);
    return at + strlen (what);
}

static inline const char *openmetrics_past_name (const char *at)
{
    size_t len = strspn (at, "abcdefghijklmnopqrstuvwxyz_");
    assert (len > 0);
    return at + len;
}

/* Three escapes, and nothing else behind a backslash. */
static inline const char *openmetrics_past_value (const char *at)
{
    for (; *at != '"'; at++) {
        assert (*at && *at != '\n');
        if (*at == '\\')
            assert (strchr ("\\\"n", *++at));
    }
    return at;
}

/* A sample has the labels of its family, in their order. */
static inline void openmetrics_check_sample (const char *line, const struct family *family, bool bucket)
{
    struct buf names, expected;
    const char *at = openmetrics_past (openmetrics_past_name (line), "{");
    buf_init (&names, 256);
    buf_init (&expected, 256);
    for (bool first = true; *at != '}'; first = false) {
        const char *name = first ? at : openmetrics_past (at, ",");
        at = openmetrics_past_name (name);
        buf_printf (&names, "%s%.*s", first ? "" : " ", (int) (at - name), name);
        at = openmetrics_past (openmetrics_past_value (openmetrics_past (at, "=\"")), "\"");
    }
    buf_printf (&expected, "slice%s%s%s", family->labels[0] ? " " : "", family->labels, bucket ? " le" : "");
    assert (strcmp (buf_c (&names), buf_c (&expected)) == 0);
    at = openmetrics_past (at, "} ");
    assert (*at && at[strspn (at, "0123456789.")] == '\0');
    buf_release (&names);
    buf_release (&expected);
}

static inline const struct family *openmetrics_family_of (const char *line)
{
    static const char *const suffixes[][3] = {
        { "{" }, { "_total{" }, { "_info{" }, { "_bucket{", "_sum{", "_count{" }
    };
    for (uint32_t f = 0; metrics_family (f); f++) {
        const struct family *family = metrics_family (f);
        size_t len = strlen (family->name);
        for (int i = 0; i < 3 && strncmp (line, family->name, len) == 0; i++) {
            const char *suffix = suffixes[family->type][i];
            if (suffix && strncmp (line + len, suffix, strlen (suffix)) == 0)
                return family;
        }
    }
    assert (!"of no family");
    return NULL;
}

static inline int openmetrics_by_text (const void *a, const void *b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Every line is one that the format knows, no series is there twice. Returns how many there are. */
static inline uint32_t openmetrics_check (const char *text)
{
    static char *series[OPENMETRICS_LINES];
    uint32_t n = 0;
    char *copy = mem_text (text), *rest = copy;
    for (char *line; (line = strsep (&rest, "\n")) != NULL && rest;) {
        if (line[0] == '#')
            continue;
        assert (n < OPENMETRICS_LINES);
        openmetrics_check_sample (line, openmetrics_family_of (line), strstr (line, "_bucket{") != NULL);
        *strrchr (line, ' ') = '\0';
        series[n++] = line;
    }
    qsort (series, n, sizeof (series[0]), openmetrics_by_text);
    for (uint32_t i = 1; i < n; i++)
        assert (strcmp (series[i - 1], series[i]) != 0);
    mem_free (copy);
    return n;
}

#endif
