/* gate.c - where every host of a slice-wide program waits for the others. */
#include "coordinator/core/gate.h"

#include <string.h>

#include "coordinator/core/commands.h"
#include "coordinator/core/commit.h"
#include "coordinator/core/loss.h"
#include "coordinator/core/outbox.h"
#include "coordinator/verdict/majority.h"

static struct gate *gate_of (struct pass_state *pass, const struct holding *held)
{
    for (uint32_t i = 0; i < pass->gates_n; i++)
        if (text_is (held->gate, pass->gates[i].name))
            return &pass->gates[i];
    if (pass->gates_n == GATES_MAX || held->gate.len >= sizeof (pass->gates[0].name))
        return NULL;
    struct gate *gate = &pass->gates[pass->gates_n++];
    memcpy (gate->name, held->gate.ptr, held->gate.len);
    gate->values = arena_array (&pass->arena, pass->n, sizeof (struct text));
    gate->mode = held->gate_mode;
    return gate;
}

static void send_go (struct coord *coord, uint32_t at, const struct gate *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t host = coord->pass.parts[at].host;
    struct msg *msg = coord_send (coord, host, MSG_GO, out);
    msg->of.go =
        (struct msg_go){ .key = coord->pass.key, .gate = text_of (gate->name), .value = text_of (gate->value) };
    coord->hosts[host].go_sent_ms = coord_clock (coord, now_ms);
}

static void refuse_gate (struct coord *coord, const struct gate *gate, uint32_t agreed, uint64_t now_ms,
                         struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_STOPPED);
    struct fact_pass_stopped *stopped = &fact->of.pass_stopped;
    uint32_t *culprits = arena_array (&out->arena, coord->pass.n, sizeof (*culprits)), n = 0;
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (!text_equal (gate->values[i], gate->values[agreed]))
            culprits[n++] = coord->pass.parts[i].host;
    stopped->key = coord->pass.key;
    stopped->culprits.items = culprits;
    stopped->culprits.n = n;
    stopped->owner = OWNER_PROGRAM;
    stopped->cause = text_format (
        &out->arena, "at gate %s it would run another program than %u of %u hosts; stopped before the devices wait",
        gate->name, coord->pass.n - n, coord->pass.n);
    stopped->next = TEXT_LIT ("compare arguments, flags and versions of this host with the others");
    coord_commit (coord, fact, now_ms);
    stop_all_parts (coord, false, TEXT_LIT ("hosts would run different programs"), now_ms, out);
}

static void open_gate (struct coord *coord, struct gate *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t agreed = gate->mode == GATE_AGREE ? majority_of (gate->values, coord->pass.n) : 0;
    if (gate->mode == GATE_AGREE && majority_share (gate->values, coord->pass.n, agreed) < coord->pass.n) {
        if (!coord->pass.stopped)
            refuse_gate (coord, gate, agreed, now_ms, out);
        return;
    }
    struct fact *fact = outbox_fact (out, FACT_GATE_OPENED);
    fact->of.gate_opened = (struct fact_gate_opened){
        .key = coord->pass.key,
        .gate = text_of (gate->name),
        .value = gate->values[agreed],
    };
    coord_commit (coord, fact, now_ms);
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (!coord->pass.parts[i].ended)
            send_go (coord, i, gate, now_ms, out);
}

static void let_through_alone (struct coord *coord, uint32_t at, const struct holding *held, uint64_t now_ms,
                               struct outbox *out)
{
    uint32_t host = coord->pass.parts[at].host;
    struct msg *msg = coord_send (coord, host, MSG_GO, out);
    msg->of.go = (struct msg_go){ .key = coord->pass.key, .gate = held->gate, .value = held->gate_value };
    coord->hosts[host].go_sent_ms = coord_clock (coord, now_ms);
}

/* A part that ended well without coming to the gate at which the others wait. */
static bool passed_it_by (const struct coord *coord, const struct gate *gate, uint32_t at)
{
    const struct part *part = &coord->pass.parts[at];
    return part->ended && gate->values[at].ptr == NULL && part->result.ending == ENDING_EXITED &&
           part->result.code == 0;
}

static bool passed_by (const struct coord *coord, const struct gate *gate)
{
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (passed_it_by (coord, gate, i))
            return true;
    return false;
}

static void refuse_absence (struct coord *coord, const struct gate *gate, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_STOPPED);
    struct fact_pass_stopped *stopped = &fact->of.pass_stopped;
    uint32_t *culprits = arena_array (&out->arena, coord->pass.n, sizeof (*culprits)), n = 0;
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (passed_it_by (coord, gate, i))
            culprits[n++] = coord->pass.parts[i].host;
    stopped->key = coord->pass.key;
    stopped->culprits.items = culprits;
    stopped->culprits.n = n;
    stopped->owner = OWNER_PROGRAM;
    stopped->cause = text_format (&out->arena, "ended without coming to gate %s, where the others waited", gate->name);
    stopped->next = TEXT_LIT ("compare its program and arguments with the others'");
    coord_commit (coord, fact, now_ms);
    stop_all_parts (coord, false, TEXT_LIT ("a peer ended without coming to the gate"), now_ms, out);
}

void gate_arrive (struct coord *coord, uint32_t at, const struct holding *held, uint64_t now_ms, struct outbox *out)
{
    struct pass_state *pass = &coord->pass;
    if (part_is_alone (coord)) {
        let_through_alone (coord, at, held, now_ms, out);
        return;
    }
    struct gate *gate = gate_of (pass, held);
    if (gate == NULL)
        return; /* more gates than allowed: the attempt's timeout ends it */
    if (gate->open) {
        if (coord_clock (coord, now_ms) >= coord->hosts[pass->parts[at].host].go_sent_ms + 1000)
            send_go (coord, at, gate, now_ms, out);
        return;
    }
    if (gate->values[at].ptr == NULL) {
        if (gate->arrived_n == 0 || held->gate_mode == GATE_AGREE)
            gate->mode = held->gate_mode; /* who wants agreement is not overruled by one who does not */
        gate->values[at] = text_copy (&pass->arena, held->gate_value);
        if (gate->values[at].ptr == NULL)
            gate->values[at].ptr = ""; /* arrived, with nothing to share */
        gate->arrived_n++;
    }
    if (gate->arrived_n == pass->n)
        open_gate (coord, gate, now_ms, out);
    else if (!pass->stopped && passed_by (coord, gate))
        refuse_absence (coord, gate, now_ms, out);
    else
        loss_stop_waiting_peers (coord, now_ms, out);
}
