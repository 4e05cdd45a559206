#include "coordinator/picture/page_file.h"

#include <string.h>

struct text page_file (const char *name)
{
    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (strcmp (file->name, name) == 0)
            return (struct text){ (const char *) file->bytes, file->n };
    return (struct text){ 0 };
}
