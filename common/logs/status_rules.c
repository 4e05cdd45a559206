/* status_rules.c - codes of absl::Status, as XLA, TSL, gRPC and TensorFlow print them: "INVALID_ARGUMENT: ...". */
#include "common/logs/error_rule.h"

#define PEER "Look at the host or process named there, and at who printed an error of its own first."
#define CODE "Correct the program where this is raised."

static const struct error_rule items[] = {
    { "status-memory", RULE_FORM, OWNER_PROGRAM, NULL, "RESOURCE_EXHAUSTED|ResourceExhausted",
      "memory|hbm|vmem|alloc|OOM|bytes", "message larger|quota|disk|thread|http", 0,
      "Lower the batch, the sequence or the model per device, or shard it further." },
    { "status-quota", RULE_FORM, OWNER_PLATFORM, NULL, "RESOURCE_EXHAUSTED", "quota|429|capacity|rate|http", NULL, 0,
      "Look at the quota of the service named there." },
    { "status-remote", RULE_PEER, OWNER_PEER, NULL,
      "UNAVAILABLE:|CANCELLED:|ABORTED:|DEADLINE_EXCEEDED:|DEADLINE_EXCEEDED|UNAVAILABLE", NULL,
      "gs://|storage|http|TPU backend|No TPU|plugin|Unable to initialize|metadata|libtpu|device|step aborted", 0,
      PEER },
    { "status-argument", RULE_PRIOR, OWNER_PROGRAM, NULL,
      "INVALID_ARGUMENT:|OUT_OF_RANGE:|InvalidArgumentError|OutOfRangeError",
      "shape|dimension|dtype|rank|operand|index|parameter|argument |element|type|input",
      "flag|address|topology|version|Unable to initialize|serialized|cache", 0, CODE },
    { "status-argument-launch", RULE_PRIOR, OWNER_LAUNCH, NULL, "INVALID_ARGUMENT:", "flag|address|topology", NULL, 0,
      "Compare the flags, addresses and topology of the launch with those of the other hosts." },
    { "status-unimplemented", RULE_PRIOR, OWNER_COMPILER, NULL, "UNIMPLEMENTED:|UnimplementedError", NULL,
      "computation per replica|plugin|PJRT_|is not implemented for this platform|on CPU backend|Multiprocess "
      "computations",
      0, "The compiler lacks what the program asks for: change the operation or its dtype, or take a newer version." },
    { "status-permission", RULE_PRIOR, OWNER_HOST, NULL, "PERMISSION_DENIED:", "/", "gs://|http|googleapis", 0,
      "Let the user of the program open the path named there." },
    { "status-service", RULE_PRIOR, OWNER_PLATFORM, NULL,
      "PERMISSION_DENIED:|UNAUTHENTICATED:|UNAVAILABLE:|DEADLINE_EXCEEDED:", "gs://|http|googleapis|storage|metadata",
      NULL, 0, "Look at the service named there and at the rights of the account." },
    { "status-exists", RULE_PRIOR, OWNER_LAUNCH, NULL, "ALREADY_EXISTS:", NULL, NULL, 0,
      "Another run or process writes in the same place: give each its own." },
};
const struct error_rules status_rules = { items, sizeof items / sizeof items[0] };
