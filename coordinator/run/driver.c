#include "coordinator/run/driver_private.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/monitor/key_file.h"

enum { SETTLE_LOOK_MS = 100 };

static void raw_run_id (const char *hex, char raw[RUN_ID_BYTES])
{
    for (size_t i = 0; i < RUN_ID_BYTES; i++) {
        unsigned byte = 0;
        sscanf (hex + 2 * i, "%2x", &byte);
        raw[i] = (char) byte;
    }
}

static struct driver *driver_create (struct loop *loop, const struct driver_options *options)
{
    struct driver *driver = mem_alloc (sizeof (*driver));
    driver->options = *options;
    driver->dir = *options->dir;
    driver->loop = loop;
    driver->coord = coord_create ();
    driver->now_ms = clock_boot_ms ();
    outbox_init (&driver->outbox);
    buf_init (&driver->frame, FACT_MAX_BYTES);
    raw_run_id (driver->dir.id, driver->run_raw);
    return driver;
}

static int open_monitor_key (struct driver *driver, struct err *err)
{
    struct link_keys keys;
    char path[RUN_PATH_BYTES];
    run_dir_path (&driver->dir, "monitor.key", path);
    if (access (path, F_OK) != 0) {
        link_keys_make (&keys);
        if (key_file_save (&keys, path, err) < 0)
            return -1;
    } else if (key_file_load (&keys, path, err) < 0) {
        return -1;
    }
    return hub_admit_monitor (driver->hub, text_of (keys.public_key), err);
}

/* Admits hosts of a resumed run, and hosts with tickets. driver_out.c reports failures later. */
static void admit_known_workers (struct driver *driver)
{
    for (uint32_t i = 0; i < coord_plan (driver->coord)->hosts.n; i++) {
        struct text key = coord_worker_key (driver->coord, i);
        if (key.len == 0 && i < driver->tickets.n)
            key = text_of (driver->tickets.hosts[i]);
        if (key.len)
            (void) hub_admit_worker (driver->hub, i, key, NULL);
    }
}

static int open_hub (struct driver *driver, const struct link_keys *keys, struct err *err)
{
    struct hub_options options = { .keys = keys,
                                   .hosts = coord_plan (driver->coord)->hosts.n,
                                   .control_bytes_max = MSG_MAX_BYTES,
                                   .bulk_bytes_max = MSG_MAX_BYTES };
    if ((driver->hub = hub_open (&options, err)) == NULL || open_monitor_key (driver, err) < 0)
        return -1;
    admit_known_workers (driver);
    driver->monitors = monitors_open (driver->loop, &driver->dir, driver->hub, driver->journal, driver->options.log,
                                      err);
    return driver->monitors ? 0 : -1;
}

/* Call it after known keys are admitted, because workers and monitors of a resumed run connect at once. */
static int listen_for_hosts (struct driver *driver, const char *public_key, struct run_addresses *at, struct err *err)
{
    const struct hub_ports ports = { at->address, at->control_port, at->bulk_port, at->events_port };
    if (hub_listen (driver->hub, &ports, err) < 0)
        return -1;
    at->control_port = hub_port (driver->hub, LINK_CONTROL);
    at->bulk_port = hub_port (driver->hub, LINK_BULK);
    at->events_port = hub_events_port (driver->hub);
    memcpy (at->public_key, public_key, sizeof (at->public_key));
    return run_addresses_save (&driver->dir, at, err);
}

static void open_launch (struct driver *driver, const struct run_addresses *at)
{
    const struct plan *plan = coord_plan (driver->coord);
    if (plan->launcher == LAUNCHER_JOIN)
        return;
    char reach[NAME_MAX_BYTES + 1]; /* empty: each courier finds it */
    if (plan->launcher == LAUNCHER_LOCAL)
        snprintf (reach, sizeof (reach), "%s", at->address);
    else
        snprintf (reach, sizeof (reach), "%.*s", TEXT_ARG (plan->start.address));
    struct launch_options options = { .launcher = plan->launcher,
                                      .start = &plan->start,
                                      .worker_path = driver->options.worker_path,
                                      .plan = plan,
                                      .courier_path = driver->options.courier_path,
                                      .bundle_path = driver->options.bundle_path,
                                      .run_id_hex = driver->dir.id,
                                      .hub_address = reach,
                                      .hub_local = run_addresses_local (at),
                                      .control_port = at->control_port,
                                      .bulk_port = at->bulk_port,
                                      .hub_public_key = at->public_key,
                                      .password = plan->launcher == LAUNCHER_SSH ? driver->options.password
                                                                                 : TEXT_LIT (""),
                                      .keyed = driver_worker_keyed,
                                      .step = driver_note_courier_step,
                                      .remark = driver_log_remark,
                                      .exited = driver_worker_exited,
                                      .owner = driver };
    driver->launch = launch_open (driver->loop, &options);
}

/* Nothing is recorded after the end. */
static bool note_output_lost (void *owner, uint32_t host, const struct attempt_key *key, struct text why)
{
    struct driver *driver = owner;
    struct core_input in = { .kind = IN_OUTPUT_LOST, .host = host, .key = *key, .text = why };
    if (driver->input_closed || coord_ended (driver->coord, NULL))
        return false;
    driver_step (driver, &in);
    return true;
}

/* The common part of a new and a resumed run, after the plan is known. */
static int open_rest (struct driver *driver, const struct link_keys *keys, struct run_addresses *at, struct err *err)
{
    const struct plan *plan = coord_plan (driver->coord);
    driver->own_seq = mem_array (plan->hosts.n, sizeof (*driver->own_seq));
    driver->alive = mem_array (plan->hosts.n, sizeof (*driver->alive));
    driver->refused = mem_array (plan->hosts.n, sizeof (*driver->refused));
    driver->host_rate_limits = mem_array (plan->hosts.n, sizeof (*driver->host_rate_limits));
    if ((driver->workqueue = workqueue_open (driver->loop, err)) == NULL ||
        (driver->log_workqueue = workqueue_open (driver->loop, err)) == NULL)
        return -1;
    driver->logs = log_store_open (&driver->dir, plan, driver->log_workqueue, note_output_lost, driver);
    driver->remarks = remark_queue_create (plan, driver->options.log);
    driver->outputs = output_watch_create (plan->hosts.n, plan->limits.log_bytes, coord_epoch (driver->coord) > 1);
    driver->reachability = reachability_create (driver->loop, plan->hosts.n, driver_host_asked, driver);
    if ((driver->kits = kit_store_open (driver->loop, plan, driver_send_chunk, driver_note_failed_giver, driver,
                                        err)) == NULL)
        return -1;
    if (loop_watch (driver->loop, journal_fd (driver->journal), EPOLLIN, driver_on_durable, driver, err) < 0)
        return -1;
    if (open_hub (driver, keys, err) < 0 || listen_for_hosts (driver, keys->public_key, at, err) < 0)
        return -1;
    open_launch (driver, at);
    loop_set_iteration_fn (driver->loop, driver_on_loop_iteration, driver);
    return 0;
}

static void driver_begin (struct driver *driver)
{
    driver_take_outbox (driver);
    driver->opening_index = driver->recorded_index;
    driver_release_held (driver);
}

/* Of both families, where this machine has both. */
static const char *all_addresses (void)
{
    struct sockaddr_in6 own = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    LOCAL_FD fd = socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool both = fd >= 0 && bind (fd, (struct sockaddr *) &own, sizeof own) == 0; /* switched off, :: is left */
    return both ? "::" : "0.0.0.0";
}

static void choose_binding (const struct plan *plan, const struct driver_options *options, struct run_addresses *at)
{
    bool everywhere = plan->launcher == LAUNCHER_SSH || plan->launcher == LAUNCHER_SLURM ||
                      driver_joins_by_ticket (plan);
    const char *usual = options->address ? options->address : everywhere ? all_addresses () : "127.0.0.1";
    struct text listen = plan->start.listen.len ? plan->start.listen : text_of (usual);
    snprintf (at->address, sizeof (at->address), "%.*s", TEXT_ARG (listen));
    run_addresses_set_reach (at, plan->start.address);
    at->control_port = (uint16_t) plan->start.control_port;
    at->bulk_port = (uint16_t) plan->start.bulk_port;
    at->events_port = (uint16_t) plan->start.events_port;
}

/* A new pair for each run; with launcher join the slice's, which is in the tickets. */
static int take_keys (struct driver *driver, const struct plan *plan, struct link_keys *keys, struct err *err)
{
    if (!driver_joins_by_ticket (plan)) {
        link_keys_make (keys);
        return 0;
    }
    if (slice_link_keys_load (plan, &driver->tickets, err) < 0)
        return -1;
    *keys = driver->tickets.coordinator;
    return 0;
}

/* Derived from the coordinator's secret key, which never leaves it, and which a resuming coordinator has. */
static struct digest deal_key_of (const struct driver *driver, const struct link_keys *keys)
{
    struct digest secret = digest_of (keys->secret_key, strlen (keys->secret_key));
    return digest_hmac (&secret, text_of (driver->dir.id)); /* a slice's pair serves many runs */
}

struct driver *driver_open (struct loop *loop, const struct driver_options *options, const struct plan *plan,
                            struct err *err)
{
    struct driver *driver = driver_create (loop, options);
    struct link_keys keys;
    struct run_addresses at = { 0 };
    choose_binding (plan, options, &at);
    if (take_keys (driver, plan, &keys, err) < 0)
        goto failed;
    if (key_file_save (&keys, RUN_PATH (&driver->dir, "coordinator.key"), err) < 0)
        goto failed;
    if ((driver->journal = journal_create (RUN_PATH (&driver->dir, "journal.db"), driver->dir.id, err)) == NULL)
        goto failed;
    struct digest deal_key = deal_key_of (driver, &keys);
    coord_open (driver->coord, text_of (driver->dir.id), plan, &deal_key, text_of (options->version),
                (uint64_t) getpid (), driver->now_ms, &driver->outbox);
    if (open_rest (driver, &keys, &at, err) < 0)
        goto failed;
    driver_begin (driver);
    return driver;
failed:
    driver_close (driver);
    return NULL;
}

struct replay {
    struct driver *driver;
    struct arena arena;
};

static int replay_fact (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct replay *replay = owner;
    struct fact fact;
    if (run_facts_decode (replay->driver->dir.id, index, bytes, &replay->arena, &fact, err) != 0)
        return -1;
    coord_apply (replay->driver->coord, &fact);
    if (replay->driver->options.watch)
        replay->driver->options.watch (replay->driver->options.owner, fact.kind, bytes);
    replay->driver->recorded_index = index;
    return 0;
}

static int driver_replay (struct driver *driver, const char *path, struct err *err)
{
    struct replay replay = { .driver = driver };
    int rc = journal_read (path, replay_fact, &replay, err);
    arena_release (&replay.arena);
    if (rc == 0)
        run_facts_warn (driver->dir.id);
    if (rc == 0 && driver->recorded_index == 0)
        return err_set (err, ERR_DAMAGE, "the journal %s holds no facts: the run was never begun", path);
    return rc;
}

/* Watches earlier workers, which most likely still run. -1: it cannot tell whether one does. */
static int adopt_workers (struct driver *driver, struct err *err)
{
    uint64_t pid, pid_start;
    char directory[RUN_PATH_BYTES];
    for (uint32_t i = 0; driver->launch && i < coord_plan (driver->coord)->hosts.n; i++) {
        struct err why = { 0 };
        if (!coord_worker_process (driver->coord, i, &pid, &pid_start))
            continue;
        if (launch_adopt (driver->launch, i, (int64_t) pid, pid_start, &why) == 0) {
            driver->alive[i] = true;
            launch_carry_again (driver->launch, i, driver_host_directory (driver, i, directory));
            continue;
        }
        if (why.code != ERR_STATE)
            return err_set (err, why.code, "%s", why.text);
        struct core_input in = { .kind = IN_WORKER_EXITED,
                                 .host = i,
                                 .text = TEXT_LIT ("its worker ended while no coordinator was running") };
        driver_step (driver, &in);
    }
    return 0;
}

/* The run ended, but its coordinator died before all workers got the end. They hold nothing any more. */
static void end_left_workers (struct driver *driver)
{
    struct run_addresses nowhere = { 0 };
    uint64_t pid, pid_start;
    open_launch (driver, &nowhere);
    for (uint32_t i = 0; driver->launch && i < coord_plan (driver->coord)->hosts.n; i++)
        if (coord_worker_process (driver->coord, i, &pid, &pid_start) &&
            launch_adopt (driver->launch, i, (int64_t) pid, pid_start, NULL) == 0)
            launch_kill (driver->launch, i);
}

struct driver *driver_resume (struct loop *loop, const struct driver_options *options, struct err *err)
{
    struct driver *driver = driver_create (loop, options);
    struct link_keys keys;
    struct run_addresses at = { 0 };
    char path[RUN_PATH_BYTES];
    if ((driver->journal = journal_open (run_dir_path (&driver->dir, "journal.db", path), err)) == NULL)
        goto failed;
    if (driver_replay (driver, path, err) < 0)
        goto failed;
    if (coord_ended (driver->coord, &driver->exit_status)) {
        driver->ended = true;
        end_left_workers (driver);
        return driver;
    }
    if (run_addresses_load (&driver->dir, &at, err) < 0 ||
        key_file_load (&keys, run_dir_path (&driver->dir, "coordinator.key", path), err) < 0)
        goto failed;
    struct err without = { 0 }; /* hosts that were keyed before stand in the journal */
    if (driver_joins_by_ticket (coord_plan (driver->coord)) &&
        slice_link_keys_load (coord_plan (driver->coord), &driver->tickets, &without) < 0)
        log_print (driver->options.log, "hosts that have not joined yet can no longer join: %s", without.text);
    struct digest deal_key = deal_key_of (driver, &keys);
    coord_resume (driver->coord, &deal_key, (uint64_t) getpid (), clock_wall_ms (), driver->now_ms, &driver->outbox);
    if (options->cancel)
        coord_step (driver->coord, &(struct core_input){ .kind = IN_CANCEL, .level = options->cancel }, driver->now_ms,
                    &driver->outbox);
    if (open_rest (driver, &keys, &at, err) < 0)
        goto failed;
    driver_begin (driver);
    if (adopt_workers (driver, err) == 0)
        return driver;
failed:
    driver_close (driver);
    return NULL;
}

static void forget_keys (struct driver *driver)
{
    char path[RUN_PATH_BYTES];
    static const char *const secrets[] = { "coordinator.key", "monitor.key", "hub.json" };
    for (size_t i = 0; i < sizeof (secrets) / sizeof (secrets[0]); i++)
        unlink (run_dir_path (&driver->dir, secrets[i], path));
}

/* Keeps the keys if the end is not durable, because the run will be resumed. Waits like journal_close. */
static bool end_is_recorded (const struct driver *driver)
{
    struct err problem = { 0 };
    bool over = driver->ended && driver->coord && coord_ended (driver->coord, NULL) && driver->problem.code == ERR_NONE;
    while (over && journal_durable_index (driver->journal) < driver->recorded_index) {
        struct pollfd more = { .fd = journal_fd (driver->journal), .events = POLLIN };
        if (journal_problem (driver->journal, &problem))
            return false;
        (void) poll (&more, 1, SETTLE_LOOK_MS);
        journal_clear_wakeup (driver->journal);
    }
    return over;
}

static void forget_watches (struct driver *driver)
{
    if (driver->hub) {
        loop_forget (driver->loop, hub_fd (driver->hub, LINK_CONTROL));
        loop_forget (driver->loop, hub_fd (driver->hub, LINK_BULK));
    }
    if (driver->journal && driver->own_seq)
        loop_forget (driver->loop, journal_fd (driver->journal));
    loop_set_iteration_fn (driver->loop, NULL, NULL);
}

void driver_close (struct driver *driver)
{
    if (driver == NULL)
        return;
    forget_watches (driver);
    driver->input_closed = true;
    kit_store_close (driver->kits);
    workqueue_close (driver->log_workqueue);
    log_store_close (driver->logs);
    workqueue_close (driver->workqueue);
    catalogue_close (driver->catalogue);
    launch_close (driver->launch);
    reachability_destroy (driver->reachability);
    output_watch_destroy (driver->outputs);
    remark_queue_destroy (driver->remarks);
    monitors_close (driver->monitors);
    slice_link_keys_release (&driver->tickets);
    hub_close (driver->hub);
    if (end_is_recorded (driver))
        forget_keys (driver);
    journal_close (driver->journal);
    held_release (&driver->held);
    outbox_release (&driver->outbox);
    coord_destroy (driver->coord);
    buf_release (&driver->frame);
    arena_release (&driver->arena);
    mem_free (driver->alive);
    mem_free (driver->refused);
    mem_free (driver->host_rate_limits);
    mem_free (driver->own_seq);
    mem_free (driver);
}

void driver_look (struct driver *driver)
{
    driver->now_ms = clock_boot_ms ();
    struct core_input in = { .kind = IN_LOOK };
    if (driver->hears && !driver->input_closed)
        driver_step (driver, &in);
}

void driver_cancel (struct driver *driver, uint32_t level)
{
    driver->now_ms = clock_boot_ms ();
    struct core_input in = { .kind = IN_CANCEL, .level = level };
    driver_step (driver, &in);
    if (level < 3)
        return;
    driver->input_closed = true;
    driver_begin_leaving (driver, 130);
}

bool driver_has_ended (const struct driver *driver, uint32_t *exit_status, struct err *problem)
{
    if (driver->ended && exit_status)
        *exit_status = driver->exit_status;
    if (problem)
        *problem = driver->problem;
    return driver->ended;
}

void driver_count_queues (const struct driver *driver, struct driver_queues *out)
{
    uint64_t durable = journal_durable_index (driver->journal);
    *out = (struct driver_queues){ .journal = driver->recorded_index > durable ? driver->recorded_index - durable : 0,
                                   .effects = driver->held.n,
                                   .disk = workqueue_length (driver->workqueue),
                                   .logs = workqueue_length (driver->log_workqueue) };
}
