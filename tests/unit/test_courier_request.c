/* links: courier */
#include "coordinator/courier/request.h"
#include "test.h"
#include <jansson.h>

#define NONCE "00112233445566778899aabbccddeeff"
#define SHA256 NONCE NONCE
#define SSH                                                                                                            \
    "\"ssh\":{\"address\":\"10.0.0.5\",\"port\":22,\"user\":\"tpu\",\"jump\":\"\",\"host_key_alias\":\"tpu.75-0-a+/"   \
    "_\","                                                                                                             \
    "\"known_hosts\":\"/k\","                                                                                          \
    "\"identities\":[\"/a\",\"/b\"],\"agent\":true}"
#define SLURM "\"slurm\":{\"account\":\"a\",\"partition\":\"p\",\"options\":[\"--mem=0\"]}"
#define REQUEST(by, rest)                                                                                              \
    "{\"sliceup-courier\":1,\"by\":\"" by "\",\"host\":\"v6e-3\",\"nonce\":\"" NONCE                                   \
    "\",\"deadline_ms\":60000,\"tied\":true,"                                                                          \
    "\"directory\":\"/var/tmp/sliceup\",\"bundle\":\"/b\",\"bundle_sha256\":\"" SHA256                                 \
    "\",\"bundle_head_bytes\":4,\"bundle_bytes\":5," rest "}"
#define LAUNCH "{\"protocol\":1,\"run\":\"r\",\"address\":\"\",\"key\":\"k\"}"

static int parse (struct request *request, const char *line, const char *launch, struct err *err)
{
    return request_parse (request, text_of (line), text_of (launch), err);
}

TEST (a_whole_request_is_read)
{
    struct request request = { 0 };
    assert_int_equal (parse (&request, REQUEST ("ssh", SSH), LAUNCH, &t->err), 0);
    assert_int_equal (request.by, BY_SSH);
    assert_string_equal (request.host, "v6e-3");
    assert_string_equal (request.ssh.address, "10.0.0.5");
    assert_string_equal (request.ssh.host_key_alias, "tpu.75-0-a+/_");
    assert_int_equal (request.ssh.identities_n, 2);
    assert_string_equal (request.ssh.identities[1], "/b");
    assert_true (request.tied && request.ssh.agent && request.needs_address);
    assert_int_equal (request.bundle_head_bytes, 4);
    assert_int_equal (request.bundle_bytes, 5);
    request_release (&request);
    assert_int_equal (parse (&request, REQUEST ("slurm", SLURM), LAUNCH, &t->err), 0);
    assert_string_equal (request.slurm.options[0], "--mem=0");
    request_release (&request);
}

/* One member of a good order set to something else. */
static int parse_with (const char *transport, const char *member, json_t *value, struct err *err)
{
    struct request request = { 0 };
    json_t *line = json_loads (REQUEST ("ssh", SSH "," SLURM), 0, NULL);
    json_t *of = *transport ? json_object_get (line, transport) : line;
    if (strcmp (transport, "slurm") == 0)
        json_object_set_new (line, "by", json_string ("slurm"));
    json_object_set_new (of, member, value);
    char *words = json_dumps (line, JSON_COMPACT);
    int rc = parse (&request, words, LAUNCH, err);
    free (words);
    json_decref (line);
    if (rc == 0)
        request_release (&request);
    else
        assert_null (request.host); /* a failure changes nothing */
    return rc;
}

TEST (what_could_become_an_option_a_path_or_a_command_is_refused)
{
    static const struct {
        const char *transport, *member, *value;
    } bad[] = {
        { "", "host", "-oProxyCommand=x" },
        { "", "host", "a b" },
        { "", "host", "h;rm" },
        { "", "host", "" },
        { "", "nonce", "xyz" },
        { "", "nonce", NONCE "0" },
        { "", "directory", "relative" },
        { "", "directory", "/a b" },
        { "", "directory", "/a'b" },
        { "", "directory", "/a\nb" },
        { "", "bundle", "relative" },
        { "", "bundle_sha256", "ff" },
        { "", "by", "pigeon" },
        { "ssh", "address", "-x" },
        { "ssh", "address", "a@b" },
        { "ssh", "address", "$(x)" },
        { "ssh", "user", "root;rm" },
        { "ssh", "user", "-l" },
        { "ssh", "user", "a b" },
        { "ssh", "jump", "a b" },
        { "ssh", "jump", "-x" },
        { "ssh", "jump", "u@-x" },
        { "ssh", "jump", "u@h:0" },
        { "ssh", "jump", "u@h:70000" },
        { "ssh", "jump", "@h" },
        { "ssh", "jump", "[::1" },
        { "ssh", "jump", "h:" },
        { "ssh", "host_key_alias", "a b" },
        { "ssh", "host_key_alias", "a,b" },
        { "ssh", "host_key_alias", "*" },
        { "ssh", "host_key_alias", "-x" },
        { "ssh", "known_hosts", "k" },
        { "slurm", "account", "a b" },
        { "slurm", "partition", "--x" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = { 0 };
        assert_int_equal (parse_with (bad[i].transport, bad[i].member, json_string (bad[i].value), &err), -1);
        assert_has (err.text, bad[i].member);
    }
}

TEST (numbers_and_lists_have_bounds)
{
    json_t *many = json_array ();
    for (int i = 0; i <= REQUEST_IDENTITIES_MAX; i++)
        json_array_append_new (many, json_string ("/key"));
    assert_int_equal (parse_with ("ssh", "identities", many, &t->err), -1);
    assert_int_equal (parse_with ("ssh", "identities", json_pack ("[s]", "relative"), &t->err), -1);
    assert_int_equal (parse_with ("ssh", "identities", json_pack ("[i]", 5), &t->err), -1);
    assert_int_equal (parse_with ("slurm", "options", json_pack ("[s]", "-N2"), &t->err), -1);
    assert_int_equal (parse_with ("slurm", "options", json_pack ("[s]", "--"), &t->err), -1);
    assert_int_equal (parse_with ("ssh", "port", json_integer (0), &t->err), -1);
    assert_int_equal (parse_with ("ssh", "port", json_integer (65536), &t->err), -1);
    assert_int_equal (parse_with ("", "deadline_ms", json_integer (0), &t->err), -1);
    assert_int_equal (parse_with ("", "deadline_ms", json_integer (INT64_MAX), &t->err), -1);
    assert_int_equal (parse_with ("", "bundle_bytes", json_integer (REQUEST_BUNDLE_MAX_BYTES + 1), &t->err), -1);
    assert_int_equal (parse_with ("", "bundle_head_bytes", json_integer (0), &t->err), -1);
    assert_int_equal (parse_with ("", "tied", json_integer (1), &t->err), -1);
    assert_int_equal (parse_with ("", "sliceup-courier", json_integer (2), &t->err), -1);
    assert_int_equal (parse_with ("", "host", json_stringn ("a\0b", 3), &t->err), -1);
    assert_int_equal (parse_with ("", "later", json_integer (1), &t->err), 0); /* passed over */
}

TEST (a_jump_is_taken_apart)
{
    static const struct {
        const char *jump, *user, *address;
        uint16_t port;
    } good[] = {
        { "bastion", "", "bastion", 22 },
        { "me@bastion", "me", "bastion", 22 },
        { "me@10.0.0.1:2222", "me", "10.0.0.1", 2222 },
        { "[fe80::1%eth0]:23", "", "fe80::1%eth0", 23 },
        { "me@[::1]", "me", "::1", 22 },
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char line[2048];
        struct request request = { 0 };
        struct err err = { 0 };
        snprintf (line, sizeof line,
                  REQUEST ("ssh", "\"ssh\":{\"address\":\"h\",\"port\":22,\"user\":\"\",\"jump\":\"%s\","
                                  "\"host_key_alias\":\"\",\"known_hosts\":\"/k\",\"identities\":[],\"agent\":false}"),
                  good[i].jump);
        assert_int_equal (parse (&request, line, "{\"protocol\":1,\"address\":\"10.1.1.1\"}", &err), 0);
        assert_string_equal (request.ssh.jump_user, good[i].user);
        assert_string_equal (request.ssh.jump_address, good[i].address);
        assert_int_equal (request.ssh.jump_port, good[i].port);
        request_release (&request);
        assert_int_equal (parse (&request, line, LAUNCH, &err), 0); /* behind a jump host the link is carried */
        assert_true (request.needs_address);
        request_release (&request);
    }
}

TEST (the_address_is_filled_in_and_nothing_else_changes)
{
    struct request request = { 0 };
    assert_int_equal (parse (&request, REQUEST ("ssh", SSH), LAUNCH, &t->err), 0);
    assert_int_equal (request_set_way (&request, "fe80::2", NULL, &t->err), 0);
    assert_string_equal (request.launch, "{\"protocol\":1,\"run\":\"r\",\"address\":\"fe80::2\",\"key\":\"k\"}");
    assert_false (request.needs_address);
    assert_int_equal (request_set_way (&request, "127.0.0.1", (const uint16_t[]){ 5, 6 }, &t->err), 0);
    assert_string_equal (request.launch,
                         "{\"protocol\":1,\"run\":\"r\",\"address\":\"127.0.0.1\",\"key\":\"k\",\"control_port\":5,"
                         "\"bulk_port\":6}");
    char *endless = mem_alloc (REQUEST_LAUNCH_MAX_BYTES + 1);
    memset (endless, 'a', REQUEST_LAUNCH_MAX_BYTES);
    assert_int_equal (request_set_way (&request, endless, NULL, &t->err), -1);
    mem_free (endless);
    request_release (&request);
}

TEST (lines_that_are_no_objects_are_refused)
{
    static const char *const bad[] = {
        "", "[]", "nonsense", "{\"sliceup-courier\":1}", "{\"a\":1,\"a\":1}", "\"text\""
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct request request = { 0 };
        struct err err = { 0 };
        assert_int_equal (parse (&request, bad[i], LAUNCH, &err), -1);
        assert_int_equal (parse (&request, REQUEST ("ssh", SSH), bad[i], &err), -1);
        assert_int_not_equal (err.text[0], 0);
    }
}
