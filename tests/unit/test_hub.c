/* alone: io monitor */
#include <sys/resource.h>

#include "coordinator/monitor/follow.h"
#include "link_lab.h"
#include "test.h"

static struct link_keys hub_keys, a, b;

static int make_keys (void **state)
{
    (void) state;
    link_keys_make (&hub_keys);
    link_keys_make (&a);
    link_keys_make (&b);
    return 0;
}

/* ---- events ---- */

TEST (what_is_published_reaches_every_monitor)
{
    struct hub *hub = lab_hub (&hub_keys);
    struct link_keys keys[2];
    struct events_client *listeners[2];
    for (int i = 0; i < 2; i++) {
        link_keys_make (&keys[i]);
        assert_int_equal (hub_admit_monitor (hub, text_of (keys[i].public_key), &t->err), 0);
        listeners[i] = events_client_open ("127.0.0.1", hub_events_port (hub), hub_keys.public_key, &keys[i], &t->err);
        assert_non_null (listeners[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct text got = { 0 };
        bool there = false;
        for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !there && clock_boot_ms () < end;) {
            struct hub_monitor query;
            struct text question;
            (void) events_client_ask (listeners[i], "listen", 6); /* not connected yet: asked again */
            while (hub_receive_question (hub, &query, &question))
                assert_text (question, "listen");
            hub_publish (hub, "event", 5);
            events_client_wait (listeners[i], LAB_STEP_MS);
            there = events_client_receive (listeners[i], &got);
        }
        assert_true (there);
        assert_text (got, "event");
    }
    events_client_close (listeners[0]);
    events_client_close (listeners[1]);
    hub_close (hub);
}

static struct events_client *open_listener (const struct hub *hub, const struct link_keys *keys)
{
    struct err err = { 0 };
    struct events_client *listener = events_client_open ("127.0.0.1", hub_events_port (hub), hub_keys.public_key, keys,
                                                         &err);
    assert_non_null (listener);
    return listener;
}

static bool is_received (struct hub *hub, struct events_client *listener, const char *question,
                         struct hub_monitor *query)
{
    struct text got;
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end; lab_pause (hub_events_fd (hub))) {
        (void) events_client_ask (listener, question, strlen (question)); /* not connected yet: asked again */
        while (hub_receive_question (hub, query, &got))
            if (text_is (got, question))
                return true;
    }
    return false;
}

static bool receives (struct events_client *listener, const char *what)
{
    struct text got;
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end;
         events_client_wait (listener, LAB_STEP_MS))
        while (events_client_receive (listener, &got))
            if (text_is (got, what))
                return true;
    return false;
}

TEST (an_answer_goes_to_who_asked_and_to_nobody_else)
{
    struct hub *hub = lab_hub (&hub_keys);
    struct events_client *listeners[2];
    struct hub_monitor query_queue[2];
    struct text got;
    assert_int_equal (hub_admit_monitor (hub, text_of (a.public_key), NULL), 0);
    for (int i = 0; i < 2; i++) {
        listeners[i] = open_listener (hub, &a);
        assert_true (is_received (hub, listeners[i], i ? "second" : "first", &query_queue[i]));
    }
    assert_true (hub_answer (hub, &query_queue[0], "one", 3));
    hub_publish (hub, "both", 4);
    for (int i = 1; i >= 0; i--) /* frames of one connection stay in order: what is not before "both" was not sent */
        for (bool both = false; !both; events_client_wait (listeners[i], LAB_STEP_MS))
            while (!both && events_client_receive (listeners[i], &got)) {
                both = text_is (got, "both");
                assert_true (both || (i == 0 && text_is (got, "one")));
            }
    events_client_close (listeners[0]);
    events_client_close (listeners[1]);
    hub_close (hub);
}

/* What waits to be sent to monitors that do not read is bounded by their places. */
TEST (one_key_has_four_places)
{
    enum { PLACES = 4 };
    struct hub *hub = lab_hub (&hub_keys);
    struct events_client *listeners[PLACES], *late, *other;
    struct hub_monitor query;
    struct text got;
    assert_int_equal (hub_admit_monitor (hub, text_of (a.public_key), NULL), 0);
    assert_int_equal (hub_admit_monitor (hub, text_of (b.public_key), NULL), 0);
    for (int i = 0; i < PLACES; i++) {
        char question[] = { 'p', 'l', 'a', 'c', 'e', (char) ('0' + i), '\0' };
        listeners[i] = open_listener (hub, &a);
        assert_true (is_received (hub, listeners[i], question, &query));
    }
    uint64_t dropped = hub_counts (hub).dropped_frames;
    late = open_listener (hub, &a);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; hub_counts (hub).dropped_frames == dropped; lab_pause (-1)) {
        assert_true (clock_boot_ms () < end);
        (void) events_client_ask (late, "late", 4);
        for (int i = 0; i < PLACES; i++)
            (void) events_client_ask (listeners[i], "listen", 6); /* they keep their places */
        while (hub_receive_question (hub, &query, &got))
            assert_false (text_is (got, "late"));
    }
    other = open_listener (hub, &b);
    assert_true (is_received (hub, other, "other", &query)); /* another key is not affected */
    hub_publish (hub, "event", 5);
    assert_true (receives (other, "event"));
    assert_false (events_client_receive (late, &got));
    for (int i = 0; i < PLACES; i++)
        events_client_close (listeners[i]);
    events_client_close (late);
    events_client_close (other);
    hub_close (hub);
}

/* Of many keys with all their places taken, none takes the first place of another. */
TEST (every_key_has_a_place_of_its_own)
{
    enum { GREEDY = 40 };
    struct hub *hub = lab_hub (&hub_keys);
    struct events_client *listeners[GREEDY][MONITOR_PLACES_A_KEY], *other;
    struct link_keys greedy[GREEDY];
    struct hub_monitor query;
    struct text got;
    for (int i = 0; i < GREEDY; i++) {
        link_keys_make (&greedy[i]);
        assert_int_equal (hub_admit_monitor (hub, text_of (greedy[i].public_key), NULL), 0);
        for (int k = 0; k < MONITOR_PLACES_A_KEY; k++)
            listeners[i][k] = open_listener (hub, &greedy[i]);
    }
    /* All ask until 40 keys have taken what there is: 160 places less those that are kept for 65 keys, and their own.
     */
    bool dropped = false;
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !dropped; lab_pause (-1)) {
        assert_true (clock_boot_ms () < end);
        for (int i = 0; i < GREEDY; i++)
            for (int k = 0; k < MONITOR_PLACES_A_KEY; k++)
                (void) events_client_ask (listeners[i][k], "listen", 6);
        while (hub_receive_question (hub, &query, &got) || hub_questions_remain (hub))
            continue;
        dropped = hub_counts (hub).dropped_frames > 0;
    }
    assert_int_equal (hub_admit_monitor (hub, text_of (b.public_key), NULL), 0);
    other = open_listener (hub, &b);
    assert_true (is_received (hub, other, "other", &query));
    hub_publish (hub, "event", 5);
    assert_true (receives (other, "event"));
    for (int i = 0; i < GREEDY; i++)
        for (int k = 0; k < MONITOR_PLACES_A_KEY; k++)
            events_client_close (listeners[i][k]);
    events_client_close (other);
    hub_close (hub);
}

/* Whoever sends without end what is of no use must not keep the loop from its other work. */
TEST (what_is_of_no_use_is_read_away_some_at_a_time)
{
    enum { AT_ONCE = 64, MANY = 200 };
    struct hub *hub = lab_hub (&hub_keys);
    struct events_client *listeners[MONITOR_PLACES_A_KEY], *late;
    struct hub_monitor query;
    struct text got;
    bool left = false;
    assert_int_equal (hub_admit_monitor (hub, text_of (a.public_key), NULL), 0);
    for (int i = 0; i < MONITOR_PLACES_A_KEY; i++) {
        char question[] = { 'p', 'l', 'a', 'c', 'e', (char) ('0' + i), '\0' };
        listeners[i] = open_listener (hub, &a);
        assert_true (is_received (hub, listeners[i], question, &query));
    }
    late = open_listener (hub, &a);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !left; lab_pause (-1)) {
        assert_true (clock_boot_ms () < end);
        for (int i = 0; i < MANY; i++)
            (void) events_client_ask (late, "late", 4);
        for (int i = 0; i < MONITOR_PLACES_A_KEY; i++)
            (void) events_client_ask (listeners[i], "listen", 6);
        for (bool more = true; more;) {
            uint64_t before = hub_counts (hub).dropped_frames;
            more = hub_receive_question (hub, &query, &got);
            uint64_t dropped = hub_counts (hub).dropped_frames - before;
            assert_true (dropped <= AT_ONCE);
            left |= !more && hub_questions_remain (hub);
            assert_int_equal (!more && dropped == AT_ONCE, hub_questions_remain (hub));
        }
    }
    for (int i = 0; i < MONITOR_PLACES_A_KEY; i++)
        events_client_close (listeners[i]);
    events_client_close (late);
    hub_close (hub);
}

static void flood (struct spoke *spoke, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        (void) spoke_send (spoke, LINK_CONTROL, "more", 4);
}

/* Of a host whose key was exchanged, and that goes on all the same. */
TEST (frames_of_no_use_are_read_away_some_at_a_time)
{
    enum { AT_ONCE = 64, MANY = 200 };
    struct hub *hub = lab_hub (&hub_keys);
    uint32_t rank;
    struct text got;
    bool left = false;
    lab_admit (hub, 1, &a);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "hello"));
    assert_true (lab_hub_receives (hub, LINK_CONTROL, &rank, &got));
    assert_string_equal (hub_worker_address (hub, rank), "127.0.0.1");
    assert_false (hub_frames_remain (hub, LINK_CONTROL));
    lab_admit (hub, 1, &b);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !left; lab_pause (-1)) {
        assert_true (clock_boot_ms () < end);
        flood (spoke, MANY);
        uint64_t before = hub_counts (hub).dropped_frames;
        assert_false (hub_receive (hub, LINK_CONTROL, &rank, &got));
        uint64_t dropped = hub_counts (hub).dropped_frames - before;
        assert_true (dropped <= AT_ONCE);
        left = hub_frames_remain (hub, LINK_CONTROL);
        assert_int_equal (dropped == AT_ONCE, left);
    }
    assert_false (hub_frames_remain (hub, LINK_BULK));
    spoke_close (spoke, 0);
    hub_close (hub);
}

/* Whoever speaks without end is heard in turns with the others. */
TEST (a_host_with_much_to_say_delays_nobody)
{
    enum { MANY = 1000, LOOKS_EVERY = 100 }; /* libzmq looks for pipes that woke up each so many messages */
    struct hub *hub = lab_hub (&hub_keys);
    uint32_t rank = 0, turns = 0;
    struct text got;
    lab_admit (hub, 1, &a);
    lab_admit (hub, 2, &b);
    struct spoke *loud = lab_spoke (hub, &hub_keys, &a), *quiet = lab_spoke (hub, &hub_keys, &b);
    assert_true (lab_spoke_says (loud, LINK_CONTROL, "hello"));
    assert_true (lab_hub_receives (hub, LINK_CONTROL, &rank, &got));
    flood (loud, MANY);
    assert_true (lab_spoke_says (quiet, LINK_CONTROL, "once"));
    for (int i = 0; i < 20; i++) /* both have come by then */
        lab_pause (-1);
    while (rank != 2 && lab_hub_receives (hub, LINK_CONTROL, &rank, &got))
        turns++;
    assert_in_range (turns, 1, 2 * LOOKS_EVERY);
    spoke_close (loud, 0);
    spoke_close (quiet, 0);
    hub_close (hub);
}

/* ---- what is refused ---- */

TEST (a_second_hub_in_one_process_is_refused)
{
    struct hub_options options = lab_options (&hub_keys);
    struct hub *hub = lab_hub (&hub_keys);
    assert_null (hub_open (&options, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    lab_admit (hub, 0, &a); /* and the first is none the worse */
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "hello"));
    lab_expect (hub, LINK_CONTROL, 0, "hello");
    spoke_close (spoke, 0);
    hub_close (hub);
}

static void expect_text (const struct err *err, const char *says)
{
    assert_has (err->text, says);
}

TEST (bad_options_are_explained)
{
    struct link_keys mixed = hub_keys;
    memcpy (mixed.public_key, a.public_key, sizeof mixed.public_key);
    const struct {
        uint32_t hosts;
        const struct link_keys *keys;
        const char *says;
    } cases[] = {
        { 0, &hub_keys, "hosts" },
        { 1u << 30, &hub_keys, "hosts" },
        { 4, &mixed, "does not match" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        struct hub_options options = lab_options (cases[i].keys);
        options.hosts = cases[i].hosts;
        assert_null (hub_open (&options, &err));
        expect_text (&err, cases[i].says);
    }
}

TEST (bad_addresses_are_explained)
{
    const struct {
        const char *address, *says;
    } cases[] = { { "127.0.0.1;tcp://x", "character 10" }, { "", "1 to 255" }, { "203.0.113.7", "203.0.113.7" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        struct hub_options options = lab_options (&hub_keys);
        struct hub_ports ports = { .address = cases[i].address };
        struct hub *hub = hub_open (&options, &err);
        assert_non_null (hub);
        assert_int_equal (hub_listen (hub, &ports, &err), -1);
        expect_text (&err, cases[i].says);
        hub_close (hub);
    }
}

TEST (ranks_and_keys_out_of_bounds_are_refused)
{
    struct hub *hub = lab_hub (&hub_keys);
    assert_int_equal (hub_admit_worker (hub, LAB_HOSTS, text_of (a.public_key), &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    assert_int_equal (hub_admit_worker (hub, 0, TEXT_LIT ("short"), &t->err), -1);
    assert_int_equal (hub_admit_worker (hub, 0, TEXT_LIT ("0123456789012345678901234567890123456 89"), &t->err), -1);
    assert_int_equal (hub_admit_worker (hub, 0, TEXT_LIT ("0123456789012345678901234567890123456\"89"), &t->err), -1);
    assert_int_equal (hub_admit_worker (hub, 0,
                                        TEXT_LIT ("0123456789012345678901234567890123456\xC3\xBC"
                                                  "9"),
                                        &t->err),
                      -1);
    assert_int_equal (hub_admit_worker (hub, 0,
                                        TEXT_LIT ("0123456789012345678901234567890123456\0"
                                                  "89"),
                                        &t->err),
                      -1);
    /* "#####" says more than 32 bits: another spelling of a key could pass twice */
    assert_int_equal (hub_admit_worker (hub, 0, TEXT_LIT ("########################################"), &t->err), -1);
    assert_int_equal (hub_admit_monitor (hub, text_of (a.public_key), &t->err), 0);
    assert_int_equal (hub_admit_worker (hub, 0, text_of (a.public_key), &t->err), -1);
    assert_int_equal (t->err.code, ERR_REFUSED);
    lab_admit (hub, 0, &b);
    assert_int_equal (hub_admit_monitor (hub, text_of (b.public_key), &t->err), -1);
    hub_close (hub);
}

/* ---- the process ---- */

static int count_descriptors (bool *all_close_on_exec)
{
    int n = 0;
    *all_close_on_exec = true;
    for (int fd = 3; fd < 4096; fd++) {
        int flags = fcntl (fd, F_GETFD);
        n += flags >= 0;
        if (flags >= 0 && !(flags & FD_CLOEXEC))
            *all_close_on_exec = false;
    }
    return n;
}

TEST (descriptors_are_close_on_exec_and_given_back)
{
    bool good;
    for (int fd = 3; fd < 4096; fd++) /* what the test was started with is not ours */
        if (fcntl (fd, F_GETFD) >= 0)
            fcntl (fd, F_SETFD, FD_CLOEXEC);
    int before = count_descriptors (&good);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_BULK, "hello"));
    lab_expect (hub, LINK_BULK, 0, "hello");
    assert_true (count_descriptors (&good) > before + 8);
    assert_true (good);
    spoke_close (spoke, 0);
    hub_close (hub);
    assert_int_equal (count_descriptors (&good), before);
    struct hub_options options = lab_options (&hub_keys);
    const struct hub_ports elsewhere = { .address = "203.0.113.7" }; /* not ours: listening fails half-way */
    assert_non_null (hub = hub_open (&options, &t->err));
    assert_int_equal (hub_listen (hub, &elsewhere, &t->err), -1);
    hub_close (hub);
    assert_int_equal (count_descriptors (&good), before);
}

static void with_descriptor_limits (rlim_t soft, rlim_t hard, int expected_exit)
{
    pid_t child = fork ();
    assert_true (child >= 0);
    if (child == 0) {
        struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };
        struct hub_options options = lab_options (&hub_keys);
        struct err err = { 0 };
        options.hosts = 200; /* 4 x 200 + 256 = 1056 */
        if (setrlimit (RLIMIT_NOFILE, &limit) != 0)
            _exit (9);
        struct hub *hub = hub_open (&options, &err);
        getrlimit (RLIMIT_NOFILE, &limit);
        if (!hub)
            _exit (err.code == ERR_LIMIT && strstr (err.text, "1056") ? 1 : 2);
        hub_close (hub);
        _exit (limit.rlim_cur == limit.rlim_max ? 0 : 3);
    }
    int status;
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_true (WIFEXITED (status));
    assert_int_equal (WEXITSTATUS (status), expected_exit);
}

TEST (the_descriptor_limit_is_raised_or_what_is_needed_is_said)
{
    with_descriptor_limits (128, 2000, 0);
    with_descriptor_limits (128, 1055, 1);
}

TEST_GROUP (make_keys, NULL)
