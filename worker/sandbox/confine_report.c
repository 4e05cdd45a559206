#include "worker/sandbox/confine_report.h"

static const struct field confine_report_fields[] = {
    F_BOOL (1, struct confine_report, ready),
    F_TEXT (2, struct confine_report, problem, SENTENCE_MAX_BYTES),
    F_ENUM (3, struct confine_report, owner, &owner_names),
    F_ENUM (4, struct confine_report, reached, &enforcement_names),
    F_RECORD (5, struct confine_report, view, &cache_view_record),
    F_TEXTS (6, struct confine_report, notes, CONFINE_NOTES_MAX, SENTENCE_MAX_BYTES),
};
const struct record confine_report_record = RECORD ("report of the sandbox", struct confine_report,
                                                    confine_report_fields);

bool confine_report_receive (int fd, struct arena *arena, struct confine_report *report, bool *over)
{
    struct confine_report received;
    struct text raw;
    enum packet packet;
    bool said = false;
    while ((packet = packet_receive (fd, &confine_report_record, &received, &raw, arena)) >= PACKET_RECORD)
        if (packet == PACKET_RECORD) {
            *report = received;
            said = true;
        }
    *over = packet == PACKET_OVER;
    return said;
}
