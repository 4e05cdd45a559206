/* alone: monitor czmq */
/* What czmq would take of the process, and does not; how listeners and a hub speak is test_hub's. */

#include "coordinator/monitor/follow.h"
#include "link_lab.h"
#include "test.h"
#include <czmq.h>

static struct link_keys hub_keys, keys;

static struct events_client *open_at (const char *address, uint16_t port, enum err_code *code)
{
    struct err err = { 0 };
    struct events_client *listener = events_client_open (address, port, hub_keys.public_key, &keys, &err);
    *code = err.code;
    return listener;
}

static void note (int signal_number)
{
    (void) signal_number;
}

static void handles (int signal_number, void (*handler) (int))
{
    struct sigaction now;
    assert_int_equal (sigaction (signal_number, NULL, &now), 0);
    assert_true (now.sa_handler == handler);
}

TEST (signals_and_variables_are_not_czmqs)
{
    enum err_code code;
    assert_int_equal (setenv ("ZSYS_SNDHWM", "1", 1), 0);
    assert_int_equal (setenv ("ZSYS_LOGSTREAM", "stdout", 1), 0);
    assert_int_equal (setenv ("ZSYS_INTERFACE", "x", 1), 0);
    assert_int_equal (setenv ("NO_ZSYS_", "stays", 1), 0);
    signal (SIGINT, note);
    signal (SIGTERM, SIG_DFL);
    struct events_client *listener = open_at ("127.0.0.1", 1, &code);
    assert_non_null (listener);
    handles (SIGINT, note);
    handles (SIGTERM, SIG_DFL);
    for (char **entry = environ; *entry; entry++)
        assert_int_not_equal (strncmp (*entry, "ZSYS_", 5), 0);
    assert_string_equal (getenv ("NO_ZSYS_"), "stays");
    assert_string_equal (zsys_interface (), "");
    events_client_close (listener);
}

TEST (a_signal_ends_the_waiting)
{
    enum err_code code;
    struct events_client *listener = open_at ("127.0.0.1", 1, &code);
    signal (SIGALRM, note);
    uint64_t began_ms = clock_boot_ms ();
    alarm (1);
    events_client_wait (listener, 20000);
    assert_in_range (clock_boot_ms () - began_ms, 500, 10000);
    began_ms = clock_boot_ms ();
    events_client_wait (listener, 200); /* and the next waiting is whole */
    assert_in_range (clock_boot_ms () - began_ms, 150, 10000);
    events_client_close (listener);
}

TEST (nobody_there_is_told_at_once)
{
    enum err_code code;
    struct text bytes;
    struct events_client *listener = open_at ("127.0.0.1", 1, &code);
    assert_false (events_client_ask (listener, "listen", 6));
    assert_false (events_client_receive (listener, &bytes));
    events_client_reconnect (listener);
    events_client_reconnect (listener);
    assert_false (events_client_ask (listener, "listen", 6));
    events_client_close (listener);
}

TEST (what_is_no_address_or_key_is_refused)
{
    static const char *const bad[] = { "", "a b", "127.0.0.1;x", "ipc:///tmp/x", "a,b", "\"" };
    enum err_code code;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null (open_at (bad[i], 1, &code));
        assert_int_not_equal (code, ERR_NONE);
    }
    assert_null (open_at ("127.0.0.1", 0, &code));
    assert_int_equal (code, ERR_USAGE);
    struct link_keys good = keys;
    memcpy (keys.public_key, hub_keys.public_key, sizeof keys.public_key);
    assert_null (open_at ("127.0.0.1", 1, &code));
    assert_int_equal (code, ERR_DAMAGE);
    keys = good;
}

TEST (it_comes_back_to_a_hub_that_was_away)
{
    enum err_code code;
    struct hub *hub = lab_hub (&hub_keys);
    const struct hub_ports same = { .address = "127.0.0.1", .events = hub_events_port (hub) };
    struct events_client *listener = open_at (same.address, same.events, &code);
    for (int i = 0; i < 2; i++) {
        struct hub_monitor who;
        struct text question = { 0 };
        assert_int_equal (hub_admit_monitor (hub, text_of (keys.public_key), NULL), 0);
        for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !text_is (question, "who") && clock_boot_ms () < end;) {
            (void) events_client_ask (listener, "who", 3);
            events_client_wait (listener, LAB_STEP_MS);
            (void) hub_receive_question (hub, &who, &question);
        }
        assert_text (question, "who");
        hub_close (hub);
        hub = i == 0 ? lab_hub_at (&hub_keys, &same) : NULL;
    }
    events_client_close (listener);
}

int main (int argc, char **argv)
{
    link_keys_make (&hub_keys);
    link_keys_make (&keys);
    return test_run (argc, argv);
}
