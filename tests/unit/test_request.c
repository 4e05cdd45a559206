/* links: web */
#include "coordinator/web/server.h"
#include "test.h"

static struct web_request parsed (const char *target)
{
    struct web_request request;
    struct err err = { 0 };
    if (web_request_parse (text_of (target), &request, &err) < 0)
        fail_msg ("%s: %s", target, err.text);
    return request;
}

TEST (each_parameter_is_read)
{
    struct web_request request = parsed ("/api/log?pass=cold&host=v6e%2d0&rung=tiny&attempt=3&run=3fa9&from=65536");
    assert_int_equal (request.route, ROUTE_LOG);
    assert_string_equal (request.host, "v6e-0");
    assert_string_equal (request.rung, "tiny");
    assert_string_equal (request.run, "3fa9");
    assert_int_equal (request.pass, PASS_COLD);
    assert_int_equal (request.attempt, 3);
    assert_int_equal (request.from, 65536);
    assert_int_equal (parsed ("/api/log?host=h&rung=a&pass=once&attempt=1").from, UINT64_MAX);
    request = parsed ("/api/state?since=18446744073709551615&wait=1");
    assert_true (request.wait && request.since == UINT64_MAX);
    assert_string_equal (request.run, "last");
    assert_int_equal (parsed ("/api/receipt?form=trace").form, FORM_TRACE);
    request = parsed ("/api/within?time=40000-120000");
    assert_true (request.from_ms == 40000 && request.until_ms == 120000);
    request = parsed ("/api/within?run=3fa9&time=5-0");
    assert_true (request.from_ms == 5 && request.until_ms == UINT64_MAX);
    request = parsed ("/api/within?time=0-0");
    assert_true (request.from_ms == 0 && request.until_ms == UINT64_MAX);
    assert_int_equal (parsed ("/api/stacks?run=3fa9").route, ROUTE_STACKS);
    assert_int_equal (parsed ("/api/numbers?run=3fa9").route, ROUTE_NUMBERS);
    assert_false (parsed ("/api/state?wait=0").wait);
    assert_string_equal (parsed ("/?run=last").file, "/");
}

TEST (what_a_path_takes_is_told)
{
    struct web_request request;
    assert_int_equal (web_request_parse (TEXT_LIT ("/api/runs?x"), &request, &t->err), -1);
    assert_string_equal (t->err.text, "/api/runs takes no such parameter, and no other");
    assert_int_equal (web_request_parse (TEXT_LIT ("/api/host?x=1"), &request, &t->err), -1);
    assert_string_equal (t->err.text, "/api/host takes no such parameter; it takes: host run");
}

TEST (what_is_not_understood_is_refused)
{
    static const char *const bad[] = {
        "/api/state?run=../x",
        "/api/state?run=",
        "/api/state?run=LAST",
        "/api/state?since=-1",
        "/api/state?since=1&since=2",
        "/api/state?sinc=1",
        "/api/state?wait=2",
        "/api/state?since",
        "/api/log?host=h0",
        "/api/log?host=h%0&rung=a&pass=once&attempt=1",
        "/api/log?host=h%00&rung=a&pass=once&attempt=1",
        "/api/log?host=h&rung=a&pass=none&attempt=1",
        "/api/log?host=h&rung=a&pass=once&attempt=0",
        "/api/log?host=h&rung=a&pass=once&attempt=4294967296",
        "/api/host?host=a%20b",
        "/api/within",
        "/api/within?time=40000",
        "/api/within?time=-40000",
        "/api/within?time=40s-2min",
        "/api/within?time=5-5",
        "/api/within?time=5-4",
        "/api/receipt?form=xml",
        "/api/receipt",
        "/api/receipt?run=last",
        "/api/state?run=00112233445566778899aabbccddeeff0",
        "/api/log?host=h&rung=a&pass=once&attempt=1&from=9223372036854775808",
    };
    struct web_request request;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = { 0 };
        if (web_request_parse (text_of (bad[i]), &request, &err) == 0)
            fail_msg ("accepted: %s", bad[i]);
        assert_int_equal (err.code, ERR_PARSE);
    }
    static const char *const nowhere[] = { "", "/page.css/", "/api", "//", "/api/state/", "http://x/api/state", "*" };
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        struct err err = { 0 };
        assert_int_equal (web_request_parse (text_of (nowhere[i]), &request, &err), -1);
        assert_int_equal (err.code, ERR_USAGE);
    }
}

TEST (a_target_has_a_bound)
{
    char target[WEB_TARGET_MAX_BYTES + 2];
    struct web_request request;
    memset (target, 'a', sizeof target);
    memcpy (target, "/?", 2);
    target[sizeof target - 1] = '\0';
    assert_int_equal (web_request_parse (text_of (target), &request, &t->err), -1);
    target[sizeof target - 2] = '\0';
    assert_int_equal (web_request_parse (text_of (target), &request, &t->err), 0);
}

/* ---- access ---- */

static const char token[] = "00112233445566778899aabbccddeeff";

static unsigned judged (bool elsewhere, const char *target, const char *host, const char *authorization,
                        const char *site)
{
    struct web_access access = { .names = { "bastion.example.org", "127.0.0.1", "[::1]", "localhost" }, .names_n = 4 };
    struct web_request request = parsed (target);
    const char *why = NULL;
    access.any_address = elsewhere;
    if (elsewhere)
        memcpy (access.token, token, sizeof token);
    unsigned status = web_access_judge (&access, &request, host, authorization, site, &why);
    assert_true (status == 0 || why);
    return status;
}

TEST (only_its_own_names_are_answered)
{
    static const char *const good[] = { "localhost", "localhost:8420",          "LocalHost:1", "127.0.0.1:9", "[::1]",
                                        "[::1]:80",  "bastion.example.org:8420" };
    static const char *const bad[] = { "",
                                       "evil.example",
                                       "localhost.evil.example",
                                       "xlocalhost",
                                       "lokalhost",
                                       "127.0.0.2",
                                       "[::1",
                                       "10.0.0.1:8420",
                                       "127.0.0.1.evil.example",
                                       ":8420",
                                       "localhost@evil.example" };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal (judged (false, "/api/runs", good[i], NULL, NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal (judged (false, "/api/runs", bad[i], NULL, NULL), 421);
        assert_int_equal (judged (false, "/", bad[i], NULL, NULL), 421);
    }
    assert_int_equal (judged (false, "/api/runs", NULL, NULL, NULL), 421);
    /* Bound to all addresses: a number is nobody's name. */
    assert_int_equal (judged (true, "/", "10.0.0.1:8420", NULL, NULL), 0);
    assert_int_equal (judged (true, "/", "evil.example", NULL, NULL), 421);
}

TEST (elsewhere_a_token_is_needed)
{
    char whole[64] = "Bearer ";
    memcpy (whole + 7, token, sizeof token);
    assert_int_equal (judged (true, "/api/runs", "localhost", NULL, NULL), 401);
    assert_int_equal (judged (true, "/metrics", "localhost", "Bearer", NULL), 401);
    assert_int_equal (judged (true, "/metrics", "localhost", token, NULL), 401);
    assert_int_equal (judged (true, "/page.js", "localhost", NULL, NULL), 0);
    assert_int_equal (judged (true, "/api/runs", "localhost", whole, NULL), 0);
    for (size_t i = 7; i < strlen (whole); i++) {
        char wrong[64];
        memcpy (wrong, whole, sizeof wrong);
        wrong[i] ^= 1;
        assert_int_equal (judged (true, "/api/runs", "localhost", wrong, NULL), 401);
        wrong[i] = '\0';
        assert_int_equal (judged (true, "/api/runs", "localhost", wrong, NULL), 401);
    }
    assert_int_equal (judged (false, "/api/runs", "localhost", NULL, NULL), 0);
}

TEST (pages_of_others_are_not_answered)
{
    assert_int_equal (judged (false, "/api/runs", "localhost", NULL, "cross-site"), 403);
    assert_int_equal (judged (false, "/metrics", "localhost", NULL, "same-site"), 403);
    assert_int_equal (judged (false, "/api/runs", "localhost", NULL, "same-origin"), 0);
    assert_int_equal (judged (false, "/api/runs", "localhost", NULL, "none"), 0);
    assert_int_equal (judged (false, "/", "localhost", NULL, "cross-site"), 0); /* a link that leads here */
}
