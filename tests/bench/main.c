/* main.c - one measurement of one side; prints one line of JSON. tests/bench/run takes both sides in turn. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/io/process_capacity.h"
#include "project.h"

enum { HOSTS_MAX_BENCH = 65536 };

/* A run asks for four descriptors a host, since each may have a courier and a second connection. These workers take one. */
int __wrap_process_capacity_check (const char *what, const struct capacity_needs *needs, struct err *err);
int __wrap_process_capacity_check (const char *what, const struct capacity_needs *needs, struct err *err)
{
    (void) what, (void) needs, (void) err;
    return 0;
}

static void usage (FILE *to)
{
    fprintf (to, "usage: bench_round project|bare --hosts N --rounds K [--home FOLDER] [--bulk]\n"
                 "                   [--frames hello,heartbeat,result,welcome,run,ack]\n"
                 "One run with N simulated workers and K no-op rungs; the figures as one line of JSON.\n"
                 "project: the real coordinator, its journal below FOLDER.\n"
                 "bare: frames of the sizes given over bare libzmq.\n");
}

/* The same for both sides, and for the helpers, whatever the shell had. */
static void raise_descriptors (void)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) != 0)
        bench_die ("no descriptor limit");
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit (RLIMIT_NOFILE, &limit) != 0)
        bench_die ("the descriptor limit cannot be raised");
}

static bool parse_frames (const char *text, struct frames *out)
{
    return sscanf (text, "%u,%u,%u,%u,%u,%u", &out->hello, &out->heartbeat, &out->result, &out->welcome, &out->run,
                   &out->ack) == 6;
}

static bool parse (int argc, char **argv, struct bench_options *out)
{
    static const struct option names[] = {
        { "hosts", 1, NULL, 'h' },  { "rounds", 1, NULL, 'r' }, { "home", 1, NULL, 'o' },
        { "frames", 1, NULL, 'f' }, { "bulk", 0, NULL, 'b' },   { NULL, 0, NULL, 0 },
    };
    int option;
    while ((option = getopt_long (argc, argv, "", names, NULL)) != -1)
        switch (option) {
        case 'h': out->hosts = (uint32_t) atoi (optarg); break;
        case 'r': out->rounds = (uint32_t) atoi (optarg); break;
        case 'o': out->home = optarg; break;
        case 'f':
            if (!parse_frames (optarg, &out->frames))
                return false;
            break;
        case 'b': out->bulk = true; break;
        default: return false;
        }
    return optind == argc - 1 && out->hosts >= CROWD_HELPERS && out->hosts <= HOSTS_MAX_BENCH && out->rounds > 0 &&
           out->rounds <= BENCH_ROUNDS_MAX;
}

static void print (const char *side, const struct bench_options *options, const struct bench_figures *figures)
{
    const struct frames *frames = &figures->crowd.frames;
    double messages = 3.0 * options->hosts * options->rounds; /* RUN, RESULT, RESULT-ACK */
    printf ("{\"side\": \"%s\", \"hosts\": %u, \"rounds\": %u, \"bulk\": %s, \"join_ms\": %.3f, \"welcomed_ms\": %.3f, "
            "\"join_cpu_ms\": %.3f, \"cpu_us_per_message\": %.4f, \"loop_cpu_us_per_message\": %.4f, "
            "\"rss_kib\": %" PRIu64 ", \"rss_peak_kib\": %" PRIu64 ", \"workers_cpu_ms\": %.3f, \"round_ms\": [",
            side, options->hosts, options->rounds, options->bulk ? "true" : "false",
            (double) (figures->joined_ns - figures->released_ns) / 1e6,
            (double) (figures->crowd.welcomed_ns - figures->released_ns) / 1e6, (double) figures->join_cpu_ns / 1e6,
            (double) figures->rounds_cpu_ns / 1e3 / messages, (double) figures->loop_cpu_ns / 1e3 / messages,
            figures->rss_kib, figures->rss_peak_kib, (double) figures->crowd.cpu_ns / 1e6);
    for (uint32_t i = 0; i < figures->rounds_n; i++)
        printf ("%s%.4f", i ? ", " : "", (double) figures->rounds_ns[i] / 1e6);
    printf ("], \"runs\": %" PRIu64 ", \"acks\": %" PRIu64 ", \"frames\": [%u, %u, %u, %u, %u, %u]}\n",
            figures->crowd.runs, figures->crowd.acks, frames->hello, frames->heartbeat, frames->result, frames->welcome,
            frames->run, frames->ack);
}

static bool is_side (const char *word)
{
    return strcmp (word, "project") == 0 || strcmp (word, "bare") == 0;
}

int main (int argc, char **argv)
{
    /* Heartbeats come once a second: a short run may have seen none. */
    struct bench_options options = { .home = "bench-home", .frames = { 110, 45, 600, 90, 300, 45 } };
    struct bench_figures figures = { 0 };
    if (argc == 2 && strcmp (argv[1], "--help") == 0) {
        usage (stdout);
        return 0;
    }
    if (!parse (argc, argv, &options) || !is_side (argv[optind])) {
        usage (stderr);
        return 2;
    }
    signal (SIGPIPE, SIG_IGN);
    raise_descriptors ();
    if (strcmp (argv[optind], "project") == 0)
        project_measure (&options, &figures);
    else
        bare_measure (&options, &figures);
    print (argv[optind], &options, &figures);
    return 0;
}
