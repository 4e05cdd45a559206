/* fuzz_request.c - no request crashes its reader or passes its bounds; what it accepts is sound: no byte of a name can
 * be a path's, a run is digits, and access is judged as for any other. Input: target, Host, Authorization, a line each. */
#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "coordinator/web/server.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 16 * 1024, HEADER_BYTES = 512 };

static void check_name (const char *name, size_t room)
{
    assert (strnlen (name, room) < room);
    for (const char *at = name; *at; at++)
        assert ((unsigned char) *at > ' ' && *at != 0x7f);
}

static void check_sound (const struct web_request *request)
{
    assert (request->route <= ROUTE_METRICS && request->form <= FORM_TRACE && request->pass <= PASS_RESTORED);
    check_name (request->host, sizeof request->host);
    check_name (request->rung, sizeof request->rung);
    check_name (request->run, sizeof request->run);
    assert (strcmp (request->run, "last") == 0 || strspn (request->run, "0123456789abcdef") == strlen (request->run));
    assert (request->route != ROUTE_LOG || (request->host[0] && request->rung[0] && request->pass && request->attempt));
    assert (request->attempt <= UINT32_MAX && (request->from <= INT64_MAX || request->from == UINT64_MAX));
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    static const char token[] = "00112233445566778899aabbccddeeff";
    struct web_access access = { .names = { "localhost", "127.0.0.1" }, .names_n = 2, .any_address = len % 2 };
    struct text rest = { (const char *) bytes, (uint32_t) len };
    char host[HEADER_BYTES], authorization[HEADER_BYTES];
    const char *why = NULL;
    struct web_request request;
    struct err err = { 0 };
    if (len > INPUT_MAX_BYTES)
        return 0;
    memcpy (access.token, token, sizeof token);
    struct text target = text_take_until (&rest, '\n');
    if (web_request_parse (target, &request, &err) == 0)
        check_sound (&request);
    else
        assert (err.code == ERR_PARSE || err.code == ERR_USAGE);
    bool has_host = text_to_c (text_take_until (&rest, '\n'), host, sizeof host);
    bool has_token = text_to_c (rest, authorization, sizeof authorization);
    unsigned status = web_access_judge (&access, &request, has_host ? host : NULL, has_token ? authorization : NULL,
                                        NULL, &why);
    assert (status == 0 || why);
    assert (status || request.route == ROUTE_PAGE || strcmp (authorization + strlen ("Bearer "), token) == 0);
    return 0;
}
