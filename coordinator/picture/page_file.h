/* page_file.h - the files of the page, as bytes of the program. Pure; any thread. */
#ifndef SLICEUP_COORDINATOR_PICTURE_PAGE_FILE_H
#define SLICEUP_COORDINATOR_PICTURE_PAGE_FILE_H

#include "common/base/text.h"

/* "page.html", "page.css" or "page.js"; empty: no file has that name. UTF-8; lives as long as the program. */
struct text page_file (const char *name);

/* embed.cmake writes the table at build. */
struct embedded_file {
    const char *name;
    const uint8_t *bytes;
    uint32_t n;
};
extern const struct embedded_file embedded_files[]; /* ends with a name of NULL */

#endif
