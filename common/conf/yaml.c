#include "common/conf/yaml.h"

#include <assert.h>
#include <libfyaml.h>
#include <string.h>

/* ---- yaml syntax ---- */

/* Explains broken YAML by what to write: the library names what it found, not the mistake. */
struct yaml_error {
    uint32_t line, column;
    const char *reason; /* the library's sentence */
};

enum {
    STEP = 2,          /* blanks of one level, if the file does not show it */
    BRACKETS_MAX = 12, /* deeper ones are not looked at */
};

/* Meaning of parts of the library's sentences for the author of the file. */
static const struct {
    const char *part, *meaning;
} meanings[] = {
    { "missing comma in flow", "a comma or the closing bracket is missing before this place; inside brackets, a text "
                               "with [ ] { } or , stands in quotes: {spare: 'n[2-3]'}" },
    { "extra closing", "this closing bracket has no opening one" },
    { "could not find expected ':'", "this line is no 'key: value'" },
    { "invalid multiline plain key", "the value that begins here ends in the next line, which has a key of its own; "
                                     "keys of one map begin in the same column" },
    { "invalid indentation in mapping", "this line is indented otherwise than the lines before it; keys of one map "
                                        "begin in the same column" },
    { "did not find expected '-' indicator", "this line is indented otherwise than the lines before it; keys of one "
                                             "map begin in the same column, and each item of a list with '- '" },
    { "did not find expected key", "a list item stands among the keys of a map; expected 'key: value'" },
    { "end of block sequence", "a key stands among the items of a list; expected '- ' at the beginning of each item" },
    { "nested block mapping on the same line", "a second key in one line; write it in the next line with more blanks "
                                               "before it, or in braces: {key: value}" },
    { "wrongly indented double-quoted", "the \" that begins here is not closed" },
    { "wrongly indented single-quoted", "the ' that begins here is not closed" },
    { "trailing content after", "more text behind the closing quote; inside '...' a ' is written twice" },
    { "plain scalar cannot start", "a text that begins with this character stands in quotes, such as '@spare'" },
    { "missing document start", "this line is no 'key: value'" },
};

static struct text yaml_take_line (struct text bytes, uint32_t number)
{
    struct text line = { 0 };
    for (uint32_t i = 0; i < number; i++)
        line = text_take_until (&bytes, '\n');
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

static uint32_t indentation (struct text line)
{
    uint32_t n = 0;
    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
        n++;
    return n;
}

/* The indentation of the line before, or a level deeper if that begins a map or a list. */
static uint32_t wanted_indentation (struct text bytes, uint32_t line)
{
    while (--line > 0) {
        struct text before = yaml_take_line (bytes, line);
        uint32_t from = indentation (before);
        if (from < before.len && before.ptr[from] != '#' && !memchr (before.ptr, '\t', from))
            return from + (before.ptr[before.len - 1] == ':' ? STEP : 0);
    }
    return 0;
}

static bool explain_tab (struct yaml_error *error, struct text bytes, struct buf *out)
{
    struct text line = yaml_take_line (bytes, error->line);
    const char *tab = line.len ? memchr (line.ptr, '\t', indentation (line)) : NULL;
    if (!tab)
        return false;
    buf_printf (out,
                "a tab before the first word; YAML is indented with blanks only, expected %u of them in place of what "
                "is there",
                wanted_indentation (bytes, error->line));
    error->column = (uint32_t) (tab - line.ptr) + 1;
    return true;
}

struct bracket {
    char what;
    uint32_t line, column;
};

/* Where a value may begin, so that a bracket or quote is not part of a word. */
static bool begins_value (struct text bytes, uint32_t at)
{
    uint32_t before = at;
    while (before > 0 && bytes.ptr[before - 1] == ' ')
        before--;
    char c = before > 0 ? bytes.ptr[before - 1] : '\n';
    return c == '\n' || strchr (",[{", c) || (before < at && strchr (":-", c));
}

/* Skips a quoted text or comment that begins at `at`; else returns `at`. */
static uint32_t pass_over (struct text bytes, uint32_t at)
{
    char c = bytes.ptr[at];
    bool comment = c == '#' && (at == 0 || strchr (" \n", bytes.ptr[at - 1]));
    if (!comment && ((c != '"' && c != '\'') || !begins_value (bytes, at)))
        return at;
    const char *end = memchr (bytes.ptr + at + 1, comment ? '\n' : c, bytes.len - at - 1);
    return end ? (uint32_t) (end - bytes.ptr) : at;
}

/* The first bracket that is closed by another one, or never. */
static bool find_unclosed (struct text bytes, struct bracket *found)
{
    struct bracket open[BRACKETS_MAX];
    uint32_t n = 0, line = 1, line_from = 0;
    for (uint32_t i = 0, to = 0; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        if (i >= to)
            to = pass_over (bytes, i);
        if (c == '\n') {
            line++;
            line_from = i + 1;
        } else if (i < to) {
            continue;
        } else if ((c == '[' || c == '{') && n < BRACKETS_MAX && (n > 0 || begins_value (bytes, i))) {
            open[n++] = (struct bracket){ c, line, i - line_from + 1 };
        } else if ((c == ']' || c == '}') && n > 0) {
            *found = open[--n];
            if (found->what != (c == ']' ? '[' : '{'))
                return true;
        }
    }
    if (n > 0)
        *found = open[0];
    return n > 0;
}

static bool explain_bracket (struct yaml_error *error, struct text bytes, struct buf *out)
{
    struct bracket bracket;
    if (!find_unclosed (bytes, &bracket) || bracket.line > error->line)
        return false;
    bool list = bracket.what == '[';
    buf_printf (out, "this %c is not closed; expected a %c behind the last %s", bracket.what, list ? ']' : '}',
                list ? "item" : "value");
    error->line = bracket.line;
    error->column = bracket.column;
    return true;
}

/* Explains a value without a blank after the colon: "mode:off". */
static bool explain_colon (struct yaml_error *error, struct text bytes, struct buf *out)
{
    struct text rest = yaml_take_line (bytes, error->line), key;
    uint32_t skipped = indentation (rest);
    rest = (struct text){ rest.ptr + skipped, rest.len - skipped };
    if (!strstr (error->reason, "expected ':'") || !text_cut (&rest, ':', &key) || rest.len == 0 || rest.ptr[0] == ' ')
        return false;
    buf_printf (out, "a blank is missing behind the colon; write '%.*s: %.*s'", TEXT_ARG (key), TEXT_ARG (rest));
    error->column = skipped + key.len + 2;
    return true;
}

/* Appends what the error means, and moves it to where it has to be mended. */
static void yaml_explain_error (struct yaml_error *error, struct text bytes, struct buf *out)
{
    if (explain_tab (error, bytes, out) || explain_bracket (error, bytes, out) || explain_colon (error, bytes, out))
        return;
    const char *meaning = error->reason;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strstr (error->reason, meanings[i].part)) {
            meaning = meanings[i].meaning;
            break;
        }
    bool conflict = text_starts (yaml_take_line (bytes, error->line), "<<<<<<<");
    buf_puts (out, conflict ? "a conflict of a merge, which nobody resolved" : meaning);
}

/* Says what a line of non-text is instead, if its bytes show it. */
static const char *yaml_explain_bytes (struct text line)
{
    if (text_starts (line, "\xff\xfe") || text_starts (line, "\xfe\xff"))
        return "the file is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8";
    if (memchr (line.ptr, '\r', line.len))
        return "a carriage return within a line, expected line ends of a line feed; convert the file: tr '\\r' '\\n'";
    return "this line has bytes that are not text, expected UTF-8 without control characters";
}

/* ---- yaml ---- */

struct yaml {
    struct fy_parser *parser;
    struct fy_diag *diag;
    const char *file;
    struct problem_list *problems;
    struct yaml_node last; /* only for its place, if an event has no mark */
    uint32_t nodes;
    bool stopped; /* a bound was passed or the syntax broke: the rest of the file is not read */
    bool ended;   /* the library came to the end of the file */
};

static const char *const kind_names[] = { "a value that was already refused", "a single value", "a list", "a map" };

const char *yaml_kind_name (enum yaml_kind kind)
{
    return kind_names[kind];
}

const struct yaml_node *yaml_value (const struct yaml_node *map, const char *name)
{
    for (const struct yaml_node *key = map->kind == YAML_MAP ? map->first : NULL; key; key = key->next)
        if (text_is (key->text, name))
            return key->value;
    return NULL;
}

bool yaml_is_null (const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && node->plain &&
           (node->text.len == 0 || text_is (node->text, "~") || text_is (node->text, "null"));
}

static struct yaml_node *yaml_stop (struct yaml *yaml, const struct yaml_node *at, const char *what, int max)
{
    if (!yaml->stopped)
        problem_at (yaml->problems, at, "%s, expected at most %d", what, max);
    yaml->stopped = true;
    return NULL;
}

static struct yaml_node *node_new (struct yaml *yaml, enum yaml_kind kind, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark (event);
    if (mark) {
        yaml->last.line = (uint32_t) mark->line + 1;
        yaml->last.column = (uint32_t) mark->column + 1;
    }
    if (++yaml->nodes > YAML_NODES_MAX)
        return yaml_stop (yaml, &yaml->last, "too many keys and values in one file", YAML_NODES_MAX);
    struct yaml_node *node = arena_alloc (yaml->problems->arena, sizeof *node);
    *node =
        (struct yaml_node){ .file = yaml->file, .line = yaml->last.line, .column = yaml->last.column, .kind = kind };
    return node;
}

/* Reports at the token's own place, `behind` columns before the library's mark. */
static void refuse_extra (struct yaml *yaml, struct fy_token *token, int behind, const char *what)
{
    const struct fy_mark *mark = token ? fy_token_start_mark (token) : NULL;
    if (mark)
        problem_add (yaml->problems, yaml->file, (uint32_t) mark->line + 1, (uint32_t) (mark->column + 1 - behind),
                     "%s", what);
    else if (token)
        problem_at (yaml->problems, &yaml->last, "%s", what);
}

/* Refuses anchors and tags. */
static void refuse_extras (struct yaml *yaml, struct fy_token *anchor, struct fy_token *tag)
{
    refuse_extra (yaml, anchor, 1,
                  "an anchor (&name), expected only the value: anchors and aliases are not supported; "
                  "a text that begins with & stands in quotes");
    refuse_extra (yaml, tag, 0,
                  "a tag (!name), expected only the value: the key decides the type; a text that begins "
                  "with ! stands in quotes");
}

static bool is_printable (struct text text)
{
    for (uint32_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.ptr[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            return false;
    }
    return text_is_utf8 (text);
}

static struct yaml_node *read_scalar (struct yaml *yaml, struct fy_event *event)
{
    struct yaml_node *node = node_new (yaml, YAML_SCALAR, event);
    if (!node)
        return NULL;
    refuse_extras (yaml, event->scalar.anchor, event->scalar.tag);
    if (event->scalar.tag)
        node->kind = YAML_BAD; /* a tag is often meant as a value */
    struct fy_token *token = event->scalar.value;
    enum fy_scalar_style style = token ? fy_token_scalar_style (token) : FYSS_PLAIN;
    node->plain = style == FYSS_PLAIN;
    /* The library's mark stands behind an opening quote. */
    node->column -= (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && node->column > 1;
    size_t len = 0;
    const char *ptr = token ? fy_token_get_text (token, &len) : NULL;
    if (ptr && len > YAML_SCALAR_MAX_BYTES) {
        problem_at (yaml->problems, node, "a value of %zu bytes, expected at most %d", len, YAML_SCALAR_MAX_BYTES);
        node->kind = YAML_BAD;
    } else if (ptr) {
        node->text = text_copy (yaml->problems->arena, (struct text){ .ptr = ptr, .len = (uint32_t) len });
    }
    if (!is_printable (node->text)) {
        problem_at (yaml->problems, node, "a value with control characters, expected printable text");
        node->kind = YAML_BAD;
    }
    return node;
}

static struct yaml_node *read_alias (struct yaml *yaml, struct fy_event *event)
{
    struct yaml_node *node = node_new (yaml, YAML_SCALAR, event);
    if (!node)
        return NULL;
    node->column -= node->column > 1; /* the library's mark stands behind the star */
    problem_at (
        yaml->problems, node,
        "an alias (*name), expected the value itself: anchors and aliases are not supported; a text that begins "
        "with * stands in quotes");
    node->kind = YAML_BAD;
    return node;
}

static struct yaml_node *read_value (struct yaml *yaml, struct fy_event *event, int depth);

/* NULL: no further child. */
static struct yaml_node *read_child (struct yaml *yaml, enum fy_event_type end, int depth)
{
    struct fy_event *event = yaml->stopped ? NULL : fy_parser_parse (yaml->parser);
    struct yaml_node *child = NULL;
    if (!event)
        yaml->stopped = true;
    else if (event->type != end)
        child = read_value (yaml, event, depth);
    if (event)
        fy_parser_event_free (yaml->parser, event);
    return child;
}

static void read_items (struct yaml *yaml, struct yaml_node *list, int depth)
{
    struct yaml_node **tail = &list->first, *item;
    while ((item = read_child (yaml, FYET_SEQUENCE_END, depth))) {
        *tail = item;
        tail = &item->next;
        list->n++;
    }
}

static const struct yaml_node *key_find (const struct yaml_node *map, struct text name)
{
    for (const struct yaml_node *key = map->first; key; key = key->next)
        if (text_equal (key->text, name))
            return key;
    return NULL;
}

static bool key_is_good (struct yaml *yaml, const struct yaml_node *map, const struct yaml_node *key)
{
    if (key->kind != YAML_SCALAR) {
        problem_at (yaml->problems, key, "the key of this map is %s, expected a name", yaml_kind_name (key->kind));
        return false;
    }
    const struct yaml_node *first = key_find (map, key->text);
    if (!first)
        return true;
    problem_at (yaml->problems, key, "the key %s is given twice, first in line %u; expected once",
                problem_quote (yaml->problems, key->text), first->line);
    return false;
}

static void read_pairs (struct yaml *yaml, struct yaml_node *map, int depth)
{
    struct yaml_node **tail = &map->first, *key;
    while ((key = read_child (yaml, FYET_MAPPING_END, depth))) {
        key->value = read_child (yaml, FYET_NONE, depth);
        if (!key->value || !key_is_good (yaml, map, key))
            continue;
        if (++map->n > YAML_KEYS_MAX) {
            yaml_stop (yaml, key, "too many keys in one map", YAML_KEYS_MAX);
            return;
        }
        *tail = key;
        tail = &key->next;
    }
}

static struct yaml_node *read_value (struct yaml *yaml, struct fy_event *event, int depth)
{
    bool is_map = event->type == FYET_MAPPING_START;
    if (event->type == FYET_SCALAR)
        return read_scalar (yaml, event);
    if (event->type == FYET_ALIAS)
        return read_alias (yaml, event);
    struct yaml_node *node = node_new (yaml, is_map ? YAML_MAP : YAML_LIST, event);
    if (!node)
        return NULL;
    if (!is_map && event->type != FYET_SEQUENCE_START)
        return yaml_stop (yaml, node, "ends of maps or lists that never began", 0);
    if (depth == YAML_DEPTH_MAX)
        return yaml_stop (yaml, node, "too many levels of maps and lists", YAML_DEPTH_MAX);
    if (is_map) {
        refuse_extras (yaml, event->mapping_start.anchor, event->mapping_start.tag);
        read_pairs (yaml, node, depth + 1);
    } else {
        refuse_extras (yaml, event->sequence_start.anchor, event->sequence_start.tag);
        read_items (yaml, node, depth + 1);
    }
    return node;
}

/* Event by event up to the end of the stream: one document is read, each further one is a problem. */
static struct yaml_node *read_stream (struct yaml *yaml)
{
    struct yaml_node *root = NULL;
    struct fy_event *event;
    while (!yaml->stopped && (event = fy_parser_parse (yaml->parser))) {
        if (event->type == FYET_DOCUMENT_START && root) {
            struct yaml_node *second = node_new (yaml, YAML_SCALAR, event);
            if (second)
                problem_at (yaml->problems, second, "a second document (---), expected one document in a file");
            yaml->stopped = true;
        } else if (event->type >= FYET_MAPPING_START && !root) {
            root = read_value (yaml, event, 0);
        }
        yaml->ended = event->type == FYET_STREAM_END;
        fy_parser_event_free (yaml->parser, event);
    }
    return root;
}

/* The library stops at the first error. */
static bool report_syntax (struct yaml *yaml, struct text bytes)
{
    void *at = NULL;
    struct fy_diag_error *error = fy_diag_errors_iterate (yaml->diag, &at);
    if (!error)
        return false;
    bool has_place = error->line > 0 && error->column > 0;
    struct yaml_error told = { .line = has_place ? (uint32_t) error->line : yaml->last.line,
                               .column = has_place ? (uint32_t) error->column : yaml->last.column,
                               .reason = error->msg ? error->msg : "no reason given" };
    LOCAL_BUF meaning = { .max = ERR_TEXT_BYTES };
    yaml_explain_error (&told, bytes, &meaning);
    problem_add (yaml->problems, yaml->file, told.line, told.column, "not YAML: %s", buf_c (&meaning));
    return true;
}

static void yaml_open (struct yaml *yaml)
{
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default (&quiet);
    quiet.fp = NULL;
    yaml->diag = fy_diag_create (&quiet);
    assert (yaml->diag); /* only for want of memory */
    fy_diag_set_collect_errors (yaml->diag, true);
    struct fy_parse_cfg parse = { .search_path = "",
                                  .flags = FYPCF_QUIET | FYPCF_DISABLE_MMAP_OPT,
                                  .diag = yaml->diag };
    yaml->parser = fy_parser_create (&parse);
    assert (yaml->parser);
}

/* A line may end in CR LF, as on Windows. */
static bool is_text (const struct yaml *yaml, struct text bytes)
{
    for (uint32_t number = 1; bytes.len > 0; number++) {
        struct text line = text_take_until (&bytes, '\n');
        line.len -= line.len > 0 && line.ptr[line.len - 1] == '\r';
        if (is_printable (line))
            continue;
        problem_add (yaml->problems, yaml->file, number, 1, "%s", yaml_explain_bytes (line));
        return false;
    }
    return true;
}

struct yaml_node *yaml_parse (const char *file, struct text bytes, struct problem_list *problems)
{
    struct yaml yaml = { .file = file,
                         .problems = problems,
                         .last = { .file = file, .line = 1, .column = 1, .kind = YAML_SCALAR } };
    if (!is_text (&yaml, bytes))
        return NULL;
    yaml_open (&yaml);
    uint32_t errors_before = problems->errors;
    struct yaml_node *root = NULL;
    if (fy_parser_set_string (yaml.parser, bytes.len ? bytes.ptr : "", bytes.len) == 0)
        root = read_stream (&yaml);
    /* An incomplete tree would cause false reports of missing keys. */
    if (report_syntax (&yaml, bytes) || yaml.stopped || !yaml.ended)
        root = NULL;
    bool failed = problems->errors > errors_before || yaml.stopped || !yaml.ended;
    if (!root && !failed) { /* nothing is in the file */
        root = arena_alloc (problems->arena, sizeof *root);
        *root = yaml.last;
        root->kind = YAML_MAP;
    } else if (!root && problems->errors == errors_before) /* for some errors the library gives no reason */
        problem_at (problems, &yaml.last, "not YAML: the error is after this place");
    fy_parser_destroy (yaml.parser);
    fy_diag_destroy (yaml.diag);
    return root;
}
