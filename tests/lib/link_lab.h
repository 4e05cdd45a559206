/* link_lab.h - hubs and spokes on the loopback for tests: keys, options, bounded waits. Include after cmocka.h. */
#ifndef SLICEUP_TESTS_LIB_LINK_LAB_H
#define SLICEUP_TESTS_LIB_LINK_LAB_H

#include "common/io/clock.h"
#include "common/io/link.h"
#include "test.h"
#include <poll.h>

enum { LAB_HOSTS = 4, LAB_WAIT_MS = 30000, LAB_STEP_MS = 10, LAB_CONTROL_BYTES = 1024, LAB_BULK_BYTES = 4096 };

static inline struct hub_options lab_options (const struct link_keys *keys)
{
    return (struct hub_options){
        .keys = keys, .hosts = LAB_HOSTS, .control_bytes_max = LAB_CONTROL_BYTES, .bulk_bytes_max = LAB_BULK_BYTES
    };
}

static inline struct hub *lab_hub_at (const struct link_keys *keys, const struct hub_ports *ports)
{
    struct hub_options options = lab_options (keys);
    struct err err = { 0 };
    struct hub *hub = hub_open (&options, &err);
    if (!hub || hub_listen (hub, ports, &err) != 0)
        fail_msg ("hub at %s: %s", ports->address, err.text);
    return hub;
}

static inline struct hub *lab_hub (const struct link_keys *keys)
{
    const struct hub_ports any = { .address = "127.0.0.1" };
    return lab_hub_at (keys, &any);
}

static inline void lab_admit (struct hub *hub, uint32_t rank, const struct link_keys *keys)
{
    struct err err = { 0 };
    if (hub_admit_worker (hub, rank, text_of (keys->public_key), &err) != 0)
        fail_msg ("hub_admit: %s", err.text);
}

static inline struct spoke *lab_spoke_at (uint16_t control, uint16_t bulk, const struct link_keys *hub_keys,
                                          const struct link_keys *keys)
{
    struct err err = { 0 };
    struct spoke_options options = { .address = "127.0.0.1",
                                     .control_port = control,
                                     .bulk_port = bulk,
                                     .hub_public_key = hub_keys->public_key,
                                     .keys = keys,
                                     .control_bytes_max = LAB_CONTROL_BYTES,
                                     .bulk_bytes_max = LAB_BULK_BYTES };
    struct spoke *spoke = spoke_open (&options, &err);
    if (!spoke)
        fail_msg ("spoke_open: %s", err.text);
    return spoke;
}

static inline struct spoke *lab_spoke (const struct hub *hub, const struct link_keys *hub_keys,
                                       const struct link_keys *keys)
{
    return lab_spoke_at (hub_port (hub, LINK_CONTROL), hub_port (hub, LINK_BULK), hub_keys, keys);
}

static inline void lab_pause (int fd)
{
    struct pollfd item = { .fd = fd, .events = POLLIN };
    (void) poll (&item, 1, LAB_STEP_MS);
}

/* Each waits until it is true, LAB_WAIT_MS at most. */
static inline bool lab_hub_receives (struct hub *hub, enum link_channel channel, uint32_t *rank, struct text *bytes)
{
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end; lab_pause (hub_fd (hub, channel)))
        if (hub_receive (hub, channel, rank, bytes))
            return true;
    return false;
}

static inline bool lab_spoke_receives (struct spoke *spoke, enum link_channel channel, struct text *bytes)
{
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end; lab_pause (spoke_fd (spoke, channel)))
        if (spoke_receive (spoke, channel, bytes))
            return true;
    return false;
}

static inline bool lab_spoke_says (struct spoke *spoke, enum link_channel channel, const char *what)
{
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end; lab_pause (-1))
        if (spoke_send (spoke, channel, what, strlen (what)))
            return true;
    return false;
}

static inline void lab_expect (struct hub *hub, enum link_channel channel, uint32_t rank, const char *what)
{
    uint32_t from = UINT32_MAX;
    struct text bytes;
    assert_true (lab_hub_receives (hub, channel, &from, &bytes));
    assert_int_equal (from, rank);
    assert_text (bytes, what);
}

static inline bool lab_counts_reach (struct hub *hub, uint64_t refused, uint64_t dropped)
{
    uint32_t rank;
    struct text bytes;
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; clock_boot_ms () < end; lab_pause (-1)) {
        if (hub_receive (hub, LINK_CONTROL, &rank, &bytes))
            return false; /* nothing may come through meanwhile */
        struct hub_counts counts = hub_counts (hub);
        if (counts.refused_handshakes >= refused && counts.dropped_frames >= dropped)
            return true;
    }
    return false;
}

#endif
