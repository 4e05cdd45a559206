/* links: io */
#include "common/io/port_holder.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void only_a_listener_at_the_port_is_one (void **state)
{
    (void) state;
    uint64_t inode = 0;
    const char *const line = "   3: 0100007F:B8D0 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        "
                             "0 71234 1 0000000000000000 100 0 0 10 0\n";
    const char *const six = "   0: 00000000000000000000000001000000:B8D0 00000000000000000000000000000000:0000 0A "
                            "00000000:00000000 00:00000000 00000000     0        0 88 1 0 100 0 0 10 0\n";
    const char *const connected = "   4: 0100007F:B8D0 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000 "
                                  "       0 71235 1 0 20 4 30 10 -1\n";
    assert_true (port_holder_parse_line (line, 0xb8d0, &inode) && inode == 71234);
    assert_true (port_holder_parse_line (six, 0xb8d0, &inode) && inode == 88);
    assert_false (port_holder_parse_line (line, 0xb8d1, &inode));
    assert_false (port_holder_parse_line (connected, 0xb8d0, &inode));
    assert_false (port_holder_parse_line ("  sl  local_address rem_address   st tx_queue\n", 0xb8d0, &inode));
}

static void it_is_found_by_its_socket (void **state)
{
    (void) state;
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
    socklen_t len = sizeof at;
    char holder[PORT_HOLDER_BYTES], wanted[32];
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &at, sizeof at), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &at, &len), 0);
    assert_false (port_holder_find (ntohs (at.sin_port), holder));
    assert_int_equal (listen (fd, 1), 0);
    assert_true (port_holder_find (ntohs (at.sin_port), holder));
    snprintf (wanted, sizeof wanted, "process %d (unit_test_port_", (int) getpid ());
    assert_memory_equal (holder, wanted, strlen (wanted));
    close (fd);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (only_a_listener_at_the_port_is_one),
        cmocka_unit_test (it_is_found_by_its_socket),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
