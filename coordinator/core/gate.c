/* gate.c - where every host of a slice-wide program waits for the others. */
#include "coordinator/core/gate.h"

#include "coordinator/core/loss.h"
#include "coordinator/core/outbox.h"
#include "coordinator/verdict/majority.h"

enum { GO_AGAIN_MS = 1000 };

static struct gate_arrivals *queue_of (struct coord *coord, const struct holding *held)
{
    struct soft_state *soft = &coord->soft;
    for (uint32_t i = 0; i < soft->gates_n; i++)
        if (text_equal (held->gate, soft->gates[i].name))
            return &soft->gates[i];
    if (soft->gates_n == GATES_MAX || coord->state->pass.gates.n == GATES_MAX || held->gate.len > WORD_MAX_BYTES)
        return NULL;
    struct gate_arrivals *queue = &soft->gates[soft->gates_n++];
    *queue = (struct gate_arrivals){ .name = text_copy (&soft->gates_arena, held->gate), .mode = held->gate_mode };
    queue->values = arena_array (&soft->gates_arena, coord->state->pass.parts.n, sizeof (struct text));
    return queue;
}

static void send_go (struct coord *coord, uint32_t at, struct text gate, struct text value, uint64_t now_ms,
                     struct outbox *out)
{
    uint32_t host = coord->state->pass.parts.items[at].host;
    struct msg *msg = coord_add_message (coord, host, MSG_GO, out);
    msg->of.go = (struct msg_go){ .key = coord->state->pass.key, .gate = gate, .value = value };
    coord->soft.hosts[host].go_sent_ms = coord_to_run_clock (coord, now_ms);
}

/* `told`: why, to those that are stopped. */
static void stop_pass (struct coord *coord, const struct fact_pass_stopped *why, struct text told, uint64_t now_ms,
                       struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_STOPPED);
    fact->of.pass_stopped = *why;
    fact->of.pass_stopped.key = coord->state->pass.key;
    fact->of.pass_stopped.owner = OWNER_PROGRAM;
    coord_commit_fact (coord, fact, now_ms);
    stop_all_parts (coord, false, told, now_ms, out);
}

/* Without a majority nobody can say whose program is the right one: then all hosts differ. */
static void refuse_gate (struct coord *coord, const struct gate_arrivals *gate, uint32_t agreed, uint64_t now_ms,
                         struct outbox *out)
{
    uint32_t all = coord->state->pass.parts.n, same = majority_count_equal (gate->values, all, agreed), n = 0;
    uint32_t *culprits = arena_array (&out->arena, all, sizeof (*culprits));
    for (uint32_t i = 0; i < all; i++)
        if (same * 2 <= all || !text_equal (gate->values[i], gate->values[agreed]))
            culprits[n++] = coord->state->pass.parts.items[i].host;
    struct fact_pass_stopped why = { .culprits = { culprits, n } };
    why.cause =
        n == all ? text_format (&out->arena,
                                "at gate %.*s the programs or flags of the %u hosts differ, and most hosts share none; "
                                "stopped, as devices would hang",
                                TEXT_ARG (gate->name), all)
                 : text_format (&out->arena,
                                "at gate %.*s its program or flags differ from those of %u of %u hosts; stopped, as "
                                "devices would hang",
                                TEXT_ARG (gate->name), same, all);
    why.next = TEXT_LIT ("compare the arguments, flags and versions of this host with those of the other hosts");
    stop_pass (coord, &why, TEXT_LIT ("the programs or flags of the hosts differ"), now_ms, out);
}

static void open_gate (struct coord *coord, struct gate_arrivals *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t agreed = gate->mode == GATE_AGREE ? majority_index (gate->values, coord->state->pass.parts.n) : 0;
    if (gate->mode == GATE_AGREE &&
        majority_count_equal (gate->values, coord->state->pass.parts.n, agreed) < coord->state->pass.parts.n) {
        if (!coord->state->pass.stopped)
            refuse_gate (coord, gate, agreed, now_ms, out);
        return;
    }
    struct fact *fact = outbox_add_fact (out, FACT_GATE_OPENED);
    fact->of.gate_opened =
        (struct fact_gate_opened){ .key = coord->state->pass.key, .gate = gate->name, .value = gate->values[agreed] };
    coord_commit_fact (coord, fact, now_ms);
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (!coord->state->pass.parts.items[i].ended)
            send_go (coord, i, gate->name, gate->values[agreed], now_ms, out);
}

/* A part that ended well without coming to the gate at which the others wait. */
static bool passed_it_by (const struct coord *coord, const struct gate_arrivals *gate, uint32_t at)
{
    const struct part *part = &coord->state->pass.parts.items[at];
    return part->ended && gate->values[at].ptr == NULL && !result_ended_badly (&part->result);
}

static bool passed_by (const struct coord *coord, const struct gate_arrivals *gate)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (passed_it_by (coord, gate, i))
            return true;
    return false;
}

static void refuse_absence (struct coord *coord, const struct gate_arrivals *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t *culprits = arena_array (&out->arena, coord->state->pass.parts.n, sizeof (*culprits)), n = 0;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (passed_it_by (coord, gate, i))
            culprits[n++] = coord->state->pass.parts.items[i].host;
    struct fact_pass_stopped why = { .culprits = { culprits, n } };
    why.cause = text_format (&out->arena, "its program ended before gate %.*s, where the other hosts waited",
                             TEXT_ARG (gate->name));
    why.next = TEXT_LIT ("compare the program and arguments of this host with those of the other hosts");
    stop_pass (coord, &why, TEXT_LIT ("another host's program ended before the gate"), now_ms, out);
}

static void arrive (struct coord *coord, struct gate_arrivals *gate, uint32_t at, const struct holding *held)
{
    if (gate->values[at].ptr != NULL)
        return;
    if (gate->arrived_n == 0 || held->gate_mode == GATE_AGREE)
        gate->mode = held->gate_mode; /* who wants agreement is not overruled by one who does not */
    gate->values[at] = text_copy (&coord->soft.gates_arena, held->gate_value);
    if (gate->values[at].ptr == NULL)
        gate->values[at].ptr = ""; /* arrived, with nothing to share */
    gate->arrived_n++;
}

void gate_arrive (struct coord *coord, uint32_t at, const struct holding *held, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    const struct gate *open = gate_find_opened (pass, held->gate);
    if (parts_are_independent (coord)) {
        send_go (coord, at, held->gate, held->gate_value, now_ms, out);
        return;
    }
    if (open) {
        if (coord_to_run_clock (coord, now_ms) >=
            coord->soft.hosts[pass->parts.items[at].host].go_sent_ms + GO_AGAIN_MS)
            send_go (coord, at, open->name, open->value, now_ms, out);
        return;
    }
    struct gate_arrivals *gate = queue_of (coord, held);
    if (gate == NULL)
        return; /* more gates than allowed: the attempt's timeout ends it */
    arrive (coord, gate, at, held);
    if (gate->arrived_n == pass->parts.n)
        open_gate (coord, gate, now_ms, out);
    else if (!pass->stopped && passed_by (coord, gate))
        refuse_absence (coord, gate, now_ms, out);
    else
        loss_stop_waiting_peers (coord, now_ms, out);
}
