#include "worker/probe/stage.h"

static const char *const words[STAGE_N] = {
    "none",    "file",     "load",    "interface", "initialize", "attributes", "client",        "platform", "devices",
    "compile", "transfer", "execute", "read",      "serialize",  "reload",     "execute-again", "memory",   "close",
};
const struct enum_names stage_names = { words, STAGE_N };
