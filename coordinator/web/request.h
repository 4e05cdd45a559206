/* request.h - what a request asks for, read from its target; and who may ask. Pure: no text of a request is a path, a
 * format or a size. docs/spec/web.md is the protocol. */
#ifndef SLICEUP_COORDINATOR_WEB_REQUEST_H
#define SLICEUP_COORDINATOR_WEB_REQUEST_H

#include "common/base/err.h"
#include "common/model/outcome.h"
#include "common/model/plan.h"
#include <stdbool.h>

enum web_route {
    ROUTE_PAGE, /* one of its files */
    ROUTE_RUNS,
    ROUTE_STATE,
    ROUTE_HOST,
    ROUTE_WITHIN,
    ROUTE_LOG,
    ROUTE_DRIFT,
    ROUTE_RECEIPT,
    ROUTE_METRICS
};
enum web_form { FORM_JSON, FORM_MARKDOWN, FORM_JUNIT, FORM_TRACE };

enum { WEB_RUN_BYTES = 40, WEB_NAME_BYTES = NAME_MAX_BYTES + 1, WEB_TARGET_MAX_BYTES = 2048 };
struct web_request {
    enum web_route route;
    char file[16];           /* of the page: "/", "/page.js" */
    char run[WEB_RUN_BYTES]; /* hexadecimal digits, or "last"; `run` "last" when not given */
    char host[WEB_NAME_BYTES], rung[WEB_NAME_BYTES];
    enum pass pass;
    uint64_t attempt, since;
    int64_t from;               /* of a log; -1: its end */
    uint64_t from_ms, until_ms; /* a range of time (struct scene_query) */
    bool wait;
    enum web_form form;
};
/* `target`: path and query, as they stand in the request line. ERR_PARSE: it is not understood; ERR_USAGE: there is no
 * such path. */
int web_request_parse (struct text target, struct web_request *out, struct err *err);

enum { WEB_NAMES_MAX = 16, WEB_TOKEN_BYTES = 33 };
struct web_access {
    const char *names[WEB_NAMES_MAX]; /* by which it may be called, in lower case, beside addresses of this machine */
    uint32_t names_n;
    bool any_address;            /* it was bound to all addresses: a number as Host cannot be somebody else's name */
    char token[WEB_TOKEN_BYTES]; /* "": none is needed */
};
/* What to answer before anything is looked up: 0: go on; else a status of HTTP, and why. Without the header: NULL.
 * `site`: Sec-Fetch-Site. */
unsigned web_access_judge (const struct web_access *access, const struct web_request *request, const char *host,
                           const char *authorization, const char *site, const char **why);

#endif
