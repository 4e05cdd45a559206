/* request.h - parses the target of a request, and decides whether it is allowed. Pure: no text of a request becomes a
 * path, a format or a size. docs/spec/web.md is the protocol. */
#ifndef SLICEUP_COORDINATOR_WEB_REQUEST_H
#define SLICEUP_COORDINATOR_WEB_REQUEST_H

#include "common/base/err.h"
#include "common/model/plan.h"
#include <stdbool.h>

enum web_route {
    ROUTE_PAGE, /* a file of the page */
    ROUTE_RUNS,
    ROUTE_STATE,
    ROUTE_HOST,
    ROUTE_WITHIN,
    ROUTE_STACKS,
    ROUTE_LOG,
    ROUTE_DRIFT,
    ROUTE_RECEIPT,
    ROUTE_METRICS
};
enum web_form { FORM_JSON = 1, FORM_MARKDOWN, FORM_JUNIT, FORM_TRACE };

enum { WEB_RUN_BYTES = 40, WEB_NAME_BYTES = NAME_MAX_BYTES + 1, WEB_TARGET_MAX_BYTES = 2048 };
struct web_request {
    enum web_route route;
    char file[16];           /* of the page: "/", "/page.js" */
    char run[WEB_RUN_BYTES]; /* hexadecimal digits, or "last" (the default) */
    char host[WEB_NAME_BYTES], rung[WEB_NAME_BYTES];
    uint32_t pass; /* enum pass */
    uint64_t attempt, since;
    int64_t from;               /* offset in a log; -1: its end */
    uint64_t from_ms, until_ms; /* range of time (struct scene_query) */
    bool wait;
    uint32_t form; /* enum web_form */
};
/* `target`: path and query of the request line. ERR_PARSE: malformed; ERR_USAGE: no such path. */
int web_request_parse (struct text target, struct web_request *out, struct err *err);

enum { WEB_NAMES_MAX = 16, WEB_TOKEN_BYTES = 33 };
struct web_access {
    const char *names[WEB_NAMES_MAX]; /* allowed Host names, in lower case, beside addresses of this machine */
    uint32_t names_n;
    bool any_address;            /* bound to all addresses: a numeric Host cannot be another site's name */
    char token[WEB_TOKEN_BYTES]; /* "": none needed */
};
/* Checks access before anything is looked up: 0: go on; else an HTTP status, and why. NULL for an absent header.
 * `site`: Sec-Fetch-Site. */
unsigned web_access_judge (const struct web_access *access, const struct web_request *request, const char *host,
                           const char *authorization, const char *site, const char **why);

#endif
