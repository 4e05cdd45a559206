/* launch_input.c - what a worker or its courier says, and what follows from it. */
#include "coordinator/launch/launch_private.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* The socket takes far more than is ever said, so a short send is an answer too: nobody listens. */
bool start_say (const struct start *start, struct text words)
{
    return send (start->process.input_fd, words.ptr, words.len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t) words.len;
}

static bool is_own (const struct start *start, const struct launch_said *said)
{
    uint64_t ticks;
    return said->pid == start->process.pid && launch_process_start_time (said->pid, &ticks) &&
           ticks == (uint64_t) said->pid_start;
}

static void take_answer (struct start *start, const struct launch_said *said)
{
    struct launch *launch = start->launch;
    if (!launch_is_remote (launch) && !is_own (start, said)) {
        start_give_up_joining (start, "it named another pid or start time than those of the process that was started");
        return;
    }
    if (!launch_is_remote (launch))
        start_drop_output (start); /* a courier has more to say */
    start_set_state (start, START_KEYED);
    launch->keyed (launch->owner, start->rank, text_of (said->public_key)); /* it may do anything */
    launch_begin_queued (launch);
}

/* What a host said is quoted in it, so it is made safe to show. */
static void take_refusal (struct start *start, const struct launch_said *said)
{
    struct buf why;
    buf_init (&why, LAUNCH_WHY_MAX_BYTES);
    buf_puts (&why, "the worker was not started, in step ");
    buf_escaped (&why, text_of (said->step), 0);
    buf_puts (&why, ": ");
    buf_escaped (&why, text_of (said->why), 0);
    start_give_up (start, &why);
    buf_release (&why);
}

static void take_end (struct start *start, const struct launch_said *said)
{
    struct buf why;
    buf_init (&why, LAUNCH_WHY_MAX_BYTES);
    buf_puts (&why, "the worker ended: ");
    buf_escaped (&why, text_of (said->why), 0);
    launch_log_last_words (&start->log, &why);
    start_give_up (start, &why);
    buf_release (&why);
}

static void take_step (const struct start *start, const struct launch_said *said)
{
    struct launch *launch = start->launch;
    if (launch->step && start->state == START_AWAITED && text_is_utf8 (text_of (said->step)))
        launch->step (launch->owner, start->rank, text_of (said->step));
}

/* Nothing follows from it: who launches says it to people. */
static void take_found (const struct start *start, const struct launch_said *said)
{
    struct launch *launch = start->launch;
    struct buf sentence;
    buf_init (&sentence, LAUNCH_WHY_MAX_BYTES);
    buf_escaped (&sentence, text_of (said->why), 0);
    if (launch->found)
        launch->found (launch->owner, start->rank, buf_as_text (&sentence));
    buf_release (&sentence);
}

static void take_word (struct start *start, const struct launch_said *said)
{
    bool before_go = start->state == START_AWAITED || start->state == START_KEYED;
    switch (said->word) {
    case WORD_ANSWER:
        if (start->state == START_AWAITED)
            take_answer (start, said);
        break;
    case WORD_STEP: take_step (start, said); break;
    case WORD_FOUND: take_found (start, said); break;
    case WORD_REFUSED:
        if (before_go)
            take_refusal (start, said);
        break;
    case WORD_LEFT:
        if (start->state == START_ADMITTED) {
            start_set_state (start, START_LEFT);
            start_detach (start);
        }
        break;
    case WORD_ENDED:
        if (start->state != START_GIVEN_UP)
            take_end (start, said);
        break;
    case WORD_NONE: break;
    }
}

/* False: nothing more comes of these bytes. */
static bool take_output (struct start *start, struct text *output)
{
    struct launch_said said;
    struct err err = { 0 };
    int rc = launch_protocol_receive (start->parser, output, &said, &err);
    if (rc > 0)
        take_word (start, &said);
    else if (rc < 0)
        start_give_up_joining (start, err.text);
    return rc > 0 && start->process.output_fd >= 0;
}

/* Its end is near when the output ends, mostly: that, or the deadline, says more. */
void start_listen (struct start *start)
{
    char bytes[4096];
    while (start->process.output_fd >= 0) {
        ssize_t n = read (start->process.output_fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            start_drop_output (start);
            return;
        }
        struct text output = { .ptr = bytes, .len = (uint32_t) n };
        while (take_output (start, &output))
            ;
    }
}
