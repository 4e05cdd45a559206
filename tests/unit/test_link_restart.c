/* alone: io */
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "link_lab.h"
#include "test.h"

enum { SPOKES = 3 };
static struct link_keys hub_keys, keys[SPOKES];

static int make_keys (void **state)
{
    (void) state;
    link_keys_make (&hub_keys);
    for (int i = 0; i < SPOKES; i++)
        link_keys_make (&keys[i]);
    return 0;
}

struct ports {
    uint16_t control, bulk;
};

/* All are admitted before the ports open, as a resumed coordinator does. */
static struct hub *hub_on (struct ports ports)
{
    struct err err = { 0 };
    struct hub_options options = lab_options (&hub_keys);
    const struct hub_ports at = { "127.0.0.1", ports.control, ports.bulk, 0 };
    struct hub *hub = hub_open (&options, &err);
    for (uint32_t i = 0; hub && i < SPOKES; i++)
        if (hub_admit_worker (hub, i, text_of (keys[i].public_key), &err) != 0)
            fprintf (stderr, "hub_admit_worker: %s\n", err.text);
    if (hub && hub_listen (hub, &at, &err) == 0)
        return hub;
    fprintf (stderr, "hub: %s\n", err.text);
    hub_close (hub);
    return NULL;
}

/* ---- a coordinator in a process of its own, to be killed ---- */

struct coordinator {
    pid_t pid;
    int orders, answers;
};

static void answer_for_ever (struct hub *hub, char name)
{
    uint32_t rank;
    struct text bytes;
    for (;;) {
        if (!lab_hub_receives (hub, LINK_CONTROL, &rank, &bytes))
            _exit (4);
        hub_send (hub, LINK_CONTROL, rank, &name, 1);
    }
}

static void coordinate (int orders, int answers, char name)
{
    struct ports ports;
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (read (orders, &ports, sizeof ports) != (ssize_t) sizeof ports)
        _exit (1);
    struct hub *hub = hub_on (ports);
    if (!hub)
        _exit (2);
    ports = (struct ports){ hub_port (hub, LINK_CONTROL), hub_port (hub, LINK_BULK) };
    if (write (answers, &ports, sizeof ports) != (ssize_t) sizeof ports)
        _exit (1);
    answer_for_ever (hub, name);
}

/* Made before this process has any thread of libzmq's; it opens its hub when told. */
static struct coordinator coordinator_make (char name)
{
    int orders[2], answers[2];
    assert_int_equal (pipe (orders), 0);
    assert_int_equal (pipe (answers), 0);
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0)
        coordinate (orders[0], answers[1], name);
    close (orders[0]);
    close (answers[1]);
    return (struct coordinator){ .pid = pid, .orders = orders[1], .answers = answers[0] };
}

static struct ports coordinator_start (struct coordinator *it, struct ports on)
{
    assert_int_equal (write (it->orders, &on, sizeof on), sizeof on);
    assert_int_equal (read (it->answers, &on, sizeof on), sizeof on);
    return on;
}

static void coordinator_kill (struct coordinator *it)
{
    int status;
    assert_int_equal (kill (it->pid, SIGKILL), 0);
    assert_int_equal (waitpid (it->pid, &status, 0), it->pid);
    assert_true (WIFSIGNALED (status));
    close (it->orders);
    close (it->answers);
}

/* Says "?" until `name` answers. */
static bool receives_of (struct spoke *spoke, char name)
{
    struct text bytes;
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end;) {
        spoke_send (spoke, LINK_CONTROL, "?", 1);
        lab_pause (spoke_fd (spoke, LINK_CONTROL));
        while (spoke_receive (spoke, LINK_CONTROL, &bytes))
            if (bytes.len == 1 && bytes.ptr[0] == name)
                return true;
    }
    return false;
}

TEST (spokes_return_when_a_killed_coordinator_is_replaced)
{
    struct coordinator first = coordinator_make ('1'), second = coordinator_make ('2');
    struct spoke *spokes[SPOKES];
    struct ports ports = coordinator_start (&first, (struct ports){ 0, 0 });
    for (int i = 0; i < SPOKES; i++) {
        spokes[i] = lab_spoke_at (ports.control, ports.bulk, &hub_keys, &keys[i]);
        assert_true (receives_of (spokes[i], '1'));
    }
    coordinator_kill (&first);
    coordinator_start (&second, ports);
    for (int i = 0; i < SPOKES; i++)
        assert_true (receives_of (spokes[i], '2'));
    for (int i = 0; i < SPOKES; i++)
        spoke_close (spokes[i], 0);
    coordinator_kill (&second);
}

/* ---- in one process ---- */

TEST (a_hub_can_be_opened_again_on_the_same_ports)
{
    struct ports ports = { 0, 0 };
    struct spoke *spoke = NULL;
    for (int round = 0; round < 3; round++) {
        uint32_t rank;
        struct text bytes;
        struct hub *hub = hub_on (ports);
        assert_non_null (hub);
        ports = (struct ports){ hub_port (hub, LINK_CONTROL), hub_port (hub, LINK_BULK) };
        if (!spoke)
            spoke = lab_spoke_at (ports.control, ports.bulk, &hub_keys, &keys[1]);
        assert_true (lab_spoke_says (spoke, LINK_CONTROL, "still here"));
        assert_true (lab_hub_receives (hub, LINK_CONTROL, &rank, &bytes));
        assert_int_equal (rank, 1);
        assert_int_equal (hub_counts (hub).refused_handshakes, 0); /* who is refused comes back 5 s later */
        hub_close (hub);
    }
    spoke_close (spoke, 0);
}

TEST (a_spoke_that_is_admitted_late_gets_in)
{
    struct hub *hub = lab_hub (&hub_keys);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &keys[0]);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; hub_counts (hub).refused_handshakes == 0; lab_pause (-1))
        assert_true (clock_boot_ms () < end);
    lab_admit (hub, 0, &keys[0]);
    uint64_t start_ms = clock_boot_ms ();
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "at last"));
    assert_true (clock_boot_ms () - start_ms < 11000); /* a handshake's time and a pause; not a stale spoke's 12 s */
    lab_expect (hub, LINK_CONTROL, 0, "at last");
    spoke_close (spoke, 0);
    hub_close (hub);
}

static int listen_on (uint16_t *port)
{
    const int one = 1;
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &at, sizeof at), 0);
    assert_int_equal (listen (fd, 8), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &at, &len), 0);
    *port = ntohs (at.sin_port);
    return fd;
}

/* libzmq gives up such a connection for good; the spoke must not. */
TEST (a_spoke_survives_something_else_on_its_port)
{
    static const char words[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    struct ports ports;
    char received[64];
    int control = listen_on (&ports.control), bulk = listen_on (&ports.bulk);
    struct spoke *spoke = lab_spoke_at (ports.control, ports.bulk, &hub_keys, &keys[2]);
    int peer = accept4 (control, NULL, NULL, SOCK_CLOEXEC);
    assert_true (peer >= 0);
    assert_true (read (peer, received, sizeof received) > 0);
    assert_int_equal (write (peer, words, sizeof words - 1), sizeof words - 1);
    while (read (peer, received, sizeof received) > 0)
        ; /* until the spoke hangs up */
    close (peer);
    close (control);
    close (bulk);
    struct hub *hub = hub_on (ports);
    assert_non_null (hub);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "back"));
    lab_expect (hub, LINK_CONTROL, 2, "back");
    spoke_close (spoke, 0);
    hub_close (hub);
}

TEST_GROUP (make_keys, NULL)
