/* yaml_syntax.h - broken YAML in words that say what to write: the library names what it met, not the mistake. */
#ifndef SLICEUP_COMMON_CONF_YAML_SYNTAX_H
#define SLICEUP_COMMON_CONF_YAML_SYNTAX_H

#include "common/base/buf.h"

struct yaml_error {
    uint32_t line, column;
    const char *reason; /* the library's sentence */
};

/* Appends what the error means, and moves it to where it has to be mended. */
void yaml_explain_error (struct yaml_error *error, struct text bytes, struct buf *out);
/* Of a line that is no text: what it is instead, as far as its bytes tell. */
const char *yaml_explain_bytes (struct text line);

#endif
