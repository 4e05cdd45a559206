#include "coordinator/web/server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *path;
    enum web_route route;
    const char *needs; /* parameters, between blanks */
    const char *takes; /* others that it may have */
} routes[] = {
    { "/", ROUTE_PAGE, "", "" },
    { "/page.js", ROUTE_PAGE, "", "" },
    { "/page.css", ROUTE_PAGE, "", "" },
    { "/api/runs", ROUTE_RUNS, "", "" },
    { "/api/state", ROUTE_STATE, "", "run since wait" },
    { "/api/host", ROUTE_HOST, "host", "run" },
    { "/api/within", ROUTE_WITHIN, "time", "run" },
    { "/api/numbers", ROUTE_NUMBERS, "", "run" },
    { "/api/stacks", ROUTE_STACKS, "", "run" },
    { "/api/log", ROUTE_LOG, "host rung pass attempt", "run from" },
    { "/api/drift", ROUTE_DRIFT, "", "run" },
    { "/api/receipt", ROUTE_RECEIPT, "form", "run" },
    { "/metrics", ROUTE_METRICS, "", "run" },
};
enum { ROUTES = sizeof routes / sizeof routes[0] };

static const struct enum_names form_names =
    NAMED ([FORM_JSON] = "json", [FORM_MARKDOWN] = "markdown", [FORM_JUNIT] = "junit", [FORM_TRACE] = "trace");

/* ---- values ---- */

/* Decodes %XX; false: a control byte, or it does not fit. */
static bool decode (struct text value, char *out, size_t out_bytes)
{
    size_t n = 0;
    for (uint32_t i = 0; i < value.len; i++) {
        int byte = (unsigned char) value.ptr[i];
        if (byte == '%') {
            char digits[3] = { 0 };
            if (!text_to_c (text_clip ((struct text){ value.ptr + i + 1, value.len - i - 1 }, 2), digits, 3) ||
                !isxdigit ((unsigned char) digits[0]) || !isxdigit ((unsigned char) digits[1]))
                return false;
            byte = (int) strtol (digits, NULL, 16);
            i += 2;
        }
        if (byte <= ' ' || byte == 0x7f || n + 1 >= out_bytes)
            return false;
        out[n++] = (char) byte;
    }
    out[n] = '\0';
    return n > 0;
}

static bool is_run (const char *run)
{
    size_t len = strspn (run, "0123456789abcdef");
    return strcmp (run, "last") == 0 || (len == strlen (run) && len >= 1 && len <= 32);
}

/* "40000-120000", in ms; until 0: to now. */
static bool take_time (struct text value, struct web_request *out)
{
    struct text until = value, from;
    if (!text_cut (&until, '-', &from) || !text_to_u64 (from, &out->from_ms) || !text_to_u64 (until, &out->until_ms))
        return false;
    out->until_ms = out->until_ms ? out->until_ms : UINT64_MAX;
    return out->from_ms < out->until_ms;
}

static bool take_value (struct text name, struct text value, struct web_request *out)
{
    uint64_t flag = 0;
    if (text_is (name, "run"))
        return decode (value, out->run, WEB_RUN_BYTES) && is_run (out->run);
    if (text_is (name, "host"))
        return decode (value, out->host, sizeof out->host);
    if (text_is (name, "rung"))
        return decode (value, out->rung, sizeof out->rung);
    if (text_is (name, "pass"))
        return enum_value_of (&pass_names, value, &out->pass);
    if (text_is (name, "attempt"))
        return text_to_u64 (value, &out->attempt) && out->attempt > 0 && out->attempt <= UINT32_MAX;
    if (text_is (name, "from"))
        return text_to_u64 (value, &out->from) && out->from <= INT64_MAX;
    if (text_is (name, "time"))
        return take_time (value, out);
    if (text_is (name, "since"))
        return text_to_u64 (value, &out->since);
    if (text_is (name, "form"))
        return enum_value_of (&form_names, value, &out->form);
    out->wait = text_is (name, "wait") && text_to_u64 (value, &flag) && flag == 1;
    return out->wait || (text_is (name, "wait") && text_is (value, "0"));
}

/* ---- the query ---- */

enum { PARAMETERS_MAX = 8 };

/* Which of the words it is; -1: none. */
static int word_at (const char *words, struct text name)
{
    struct text rest = text_of (words);
    for (int i = 0; rest.len; i++)
        if (text_equal (text_take_until (&rest, ' '), name))
            return i;
    return -1;
}

static uint32_t words_n (const char *words)
{
    struct text rest = text_of (words);
    uint32_t n = 0;
    for (; rest.len; n++)
        text_take_until (&rest, ' ');
    return n;
}

static int take_parameter (size_t route, struct text part, uint32_t *seen, struct web_request *out, struct err *err)
{
    struct text value = part, name = text_take_until (&value, '=');
    const char *needs = routes[route].needs, *takes = routes[route].takes;
    int needed = word_at (needs, name), taken = word_at (takes, name);
    if (needed < 0 && taken < 0)
        return err_set (err, ERR_PARSE, "%s takes no such parameter%s%s%s%s", routes[route].path,
                        *needs || *takes ? "; it takes: " : ", and no other", needs, *needs && *takes ? " " : "",
                        takes);
    uint32_t bit = 1u << (needed >= 0 ? needed : PARAMETERS_MAX + taken);
    if (*seen & bit)
        return err_set (err, ERR_PARSE, "%.*s: given twice", TEXT_ARG (name));
    *seen |= bit;
    return take_value (name, value, out)
               ? 0
               : err_set (err, ERR_PARSE, "%.*s: not a value that %s takes", TEXT_ARG (name), routes[route].path);
}

static int take_query (size_t route, struct text query, struct web_request *out, struct err *err)
{
    uint32_t seen = 0, needed = (1u << words_n (routes[route].needs)) - 1;
    while (query.len)
        if (take_parameter (route, text_take_until (&query, '&'), &seen, out, err) < 0)
            return -1;
    return (seen & needed) == needed
               ? 0
               : err_set (err, ERR_PARSE, "%s needs the parameters: %s", routes[route].path, routes[route].needs);
}

int web_request_parse (struct text target, struct web_request *out, struct err *err)
{
    *out = (struct web_request){ .run = "last", .from = UINT64_MAX };
    if (target.len > WEB_TARGET_MAX_BYTES)
        return err_set (err, ERR_PARSE, "the address is longer than %d bytes", WEB_TARGET_MAX_BYTES);
    struct text query = target, path = text_take_until (&query, '?');
    for (size_t i = 0; i < ROUTES; i++)
        if (text_is (path, routes[i].path)) {
            out->route = routes[i].route;
            if (out->route == ROUTE_PAGE)
                memcpy (out->file, routes[i].path, strlen (routes[i].path) + 1);
            return out->route == ROUTE_PAGE ? 0 : take_query (i, query, out, err); /* a page's query is its own */
        }
    return err_set (err, ERR_USAGE, "there is no such page");
}

/* ---- access ---- */

/* The name of a Host, without its port: through a tunnel that is another one. "[::1]:80" is "[::1]". */
static struct text request_host_name (const char *host)
{
    struct text name = text_of (host);
    uint32_t at = 0;
    if (name.len && name.ptr[0] == '[')
        return text_find (name, TEXT_LIT ("]"), &at) ? (struct text){ name.ptr, at + 1 } : (struct text){ 0 };
    return text_take_until (&name, ':');
}

static bool request_is_number (struct text name)
{
    bool dots = name.len > 0;
    for (uint32_t i = 0; i < name.len; i++)
        dots &= name.ptr[i] == '.' || (name.ptr[i] >= '0' && name.ptr[i] <= '9');
    return dots || (name.len && name.ptr[0] == '[');
}

static bool is_one_of_ours (const struct web_access *access, struct text name)
{
    for (uint32_t i = 0; name.len && i < access->names_n; i++)
        if (strlen (access->names[i]) == name.len && strncasecmp (access->names[i], name.ptr, name.len) == 0)
            return true;
    return access->any_address && request_is_number (name);
}

/* Compares in constant time. */
static bool token_matches (const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    size_t before = sizeof scheme - 1, len = strlen (token);
    if (!authorization || strncasecmp (authorization, scheme, before) != 0 || strlen (authorization) != before + len)
        return false;
    unsigned char differs = 0;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char) (authorization[before + i] ^ token[i]);
    return differs == 0;
}

unsigned web_access_judge (const struct web_access *access, const struct web_request *request, const char *host,
                           const char *authorization, const char *site, const char **why)
{
    enum { UNAUTHORIZED = 401, FORBIDDEN = 403, MISDIRECTED = 421 };
    bool token = access->token[0] && request->route != ROUTE_PAGE; /* on another address than this machine's */
    if (!host || !is_one_of_ours (access, request_host_name (host))) {
        *why = "this server does not have that name; sliceup serve --name HOST allows a name";
        return MISDIRECTED;
    }
    if (request->route != ROUTE_PAGE && site && strcmp (site, "same-origin") != 0 && strcmp (site, "none") != 0) {
        *why = "pages of other sites are not answered";
        return FORBIDDEN;
    }
    *why = "the token is missing or wrong; sliceup serve prints the address that has it";
    return token && !token_matches (access->token, authorization) ? UNAUTHORIZED : 0;
}
