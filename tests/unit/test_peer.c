/* links: io */
#include <poll.h>

#include "common/io/clock.h"
#include "common/io/socket.h"
#include "test.h"

enum { ASK_BYTES = 1024, PIECE_BYTES = 4096, TIMEOUT_MS = 20000, NEVER_MS = 700 };

/* Sends until it is received, as what is lost is asked for again. False: nothing came in `wait_ms`. */
static bool arrives (struct peer *from, struct peer *to, const char *what, uint64_t wait_ms)
{
    struct text bytes;
    uint64_t until_ms = clock_boot_ms () + wait_ms;
    while (clock_boot_ms () < until_ms) {
        (void) peer_send (from, what, strlen (what));
        poll (NULL, 0, 10);
        while (peer_receive (to, &bytes)) /* also what was sent more often than once */
            if (text_is (bytes, what))
                return true;
    }
    return false;
}

TEST (a_question_and_its_answer)
{
    static const char *const addresses[][2] = {
        { "127.0.0.1", "127.0.0.1" }, { "::1", "::1" }, { "no.such.name", "127.0.0.1" }, { "no.such.name", "::1" }
    };
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        struct peer *door = peer_listen (addresses[i][0], ASK_BYTES, NULL);
        assert_non_null (door);
        struct peer *a = peer_connect (addresses[i][1], peer_port (door), peer_public_key (door), PIECE_BYTES, NULL);
        struct peer *b = peer_connect (addresses[i][1], peer_port (door), peer_public_key (door), PIECE_BYTES, NULL);
        assert_true (arrives (a, door, "a?", TIMEOUT_MS));
        assert_true (arrives (door, a, "a!", TIMEOUT_MS));
        assert_true (arrives (b, door, "b?", TIMEOUT_MS));
        assert_true (arrives (door, b, "b!", TIMEOUT_MS));
        peer_close (a);
        peer_close (b);
        peer_close (door);
    }
}

TEST (who_was_not_told_the_key_gets_nothing)
{
    struct link_keys other;
    struct text bytes;
    link_keys_make (&other);
    struct peer *door = peer_listen ("127.0.0.1", ASK_BYTES, NULL);
    struct peer *stranger = peer_connect ("127.0.0.1", peer_port (door), other.public_key, PIECE_BYTES, NULL);
    struct peer *told = peer_connect ("127.0.0.1", peer_port (door), peer_public_key (door), PIECE_BYTES, NULL);
    assert_false (arrives (stranger, door, "give", NEVER_MS));
    assert_true (arrives (told, door, "give", TIMEOUT_MS)); /* the same door, to one that was */
    assert_false (peer_receive (stranger, &bytes));
    peer_close (told);
    peer_close (stranger);
    peer_close (door);
}

TEST (what_is_too_long_does_not_arrive)
{
    char much[2 * ASK_BYTES + 65] = { 0 };
    memset (much, 'x', sizeof much - 1);
    struct peer *door = peer_listen ("127.0.0.1", ASK_BYTES, NULL);
    struct peer *peer = peer_connect ("127.0.0.1", peer_port (door), peer_public_key (door), PIECE_BYTES, NULL);
    assert_true (arrives (peer, door, "short", TIMEOUT_MS));
    assert_false (arrives (peer, door, much, NEVER_MS));
    peer_close (peer);
    peer_close (door);
}

TEST (an_address_or_key_that_is_none_is_refused)
{
    struct err err = { 0 };
    struct link_keys keys;
    link_keys_make (&keys);
    assert_null (peer_connect ("127.0.0.1;127.0.0.1", 4711, keys.public_key, PIECE_BYTES, &err));
    assert_null (peer_connect ("127.0.0.1", 4711, "short", PIECE_BYTES, &err));
    assert_null (peer_connect ("", 4711, keys.public_key, PIECE_BYTES, &err));
}

TEST_GROUP (NULL, NULL)
