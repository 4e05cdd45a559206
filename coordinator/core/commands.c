#include "coordinator/core/commands.h"

void stop_part (struct coord *coord, uint32_t at, bool hard, struct text why, uint64_t now_ms, struct outbox *out)
{
    const struct part *part = &coord->state->pass.parts.items[at];
    if (part->ended)
        return;
    struct msg *msg = coord_send (coord, part->host, MSG_CANCEL, out);
    msg->of.cancel = (struct msg_cancel){ .key = coord->state->pass.key, .hard = hard, .why = why };
    coord->soft.parts[at].stopped = true;
    coord->soft.parts[at].killed |= hard;
    coord->soft.hosts[part->host].stop_sent_ms = coord_clock (coord, now_ms);
}

void stop_all_parts (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        stop_part (coord, i, hard, why, now_ms, out);
}

void launch_hosts (struct coord *coord, enum host_life life, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (coord->state->hosts.items[i].life == life)
            outbox_effect (out, FX_LAUNCH)->host = i;
}

void stop_climb (struct coord *coord, enum outcome outcome, struct text why, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_CLIMB_STOPPED);
    fact->of.climb_stopped = (struct fact_climb_stopped){ .outcome = outcome,
                                                          .why = text_clip (why, SENTENCE_MAX_BYTES) };
    coord_commit (coord, fact, now_ms);
}
