#include "common/io/port_holder.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LISTENS = 0x0a, LINES_MAX = 1 << 18, PROCESSES_MAX = 1 << 17, DESCRIPTORS_MAX = 1 << 16 };

bool port_holder_parse_line (const char *line, uint16_t port, uint64_t *inode)
{
    unsigned at, state;
    return sscanf (line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64, &at,
                   &state, inode) == 3 &&
           at == port && state == LISTENS;
}

static bool find_socket (const char *table, uint16_t port, uint64_t *inode)
{
    char line[512];
    bool found = false;
    FILE *lines = fopen (table, "re");
    for (int n = 0; lines && !found && n < LINES_MAX && fgets (line, sizeof line, lines); n++)
        found = port_holder_parse_line (line, port, inode);
    if (lines)
        fclose (lines);
    return found;
}

static bool has_socket (const char *pid, uint64_t inode)
{
    char path[64], wanted[48], link[48];
    struct dirent *entry;
    bool found = false;
    snprintf (path, sizeof path, "/proc/%.20s/fd", pid);
    snprintf (wanted, sizeof wanted, "socket:[%" PRIu64 "]", inode);
    DIR *descriptors = opendir (path);
    for (int n = 0; descriptors && !found && n < DESCRIPTORS_MAX && (entry = readdir (descriptors)) != NULL; n++) {
        ssize_t len = readlinkat (dirfd (descriptors), entry->d_name, link, sizeof link - 1);
        found = len == (ssize_t) strlen (wanted) && memcmp (link, wanted, (size_t) len) == 0;
    }
    if (descriptors)
        closedir (descriptors);
    return found;
}

/* Its short name is what it calls itself, so only plain characters of it are shown. */
static void name_process (const char *pid, char out[PORT_HOLDER_BYTES])
{
    char path[64], name[17] = "";
    snprintf (path, sizeof path, "/proc/%.20s/comm", pid);
    FILE *file = fopen (path, "re");
    if (file && fgets (name, sizeof name, file))
        name[strspn (name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")] = '\0';
    if (file)
        fclose (file);
    snprintf (out, PORT_HOLDER_BYTES, "process %.20s (%s)", pid, name);
}

bool port_holder_find (uint16_t port, char out[PORT_HOLDER_BYTES])
{
    uint64_t inode;
    struct dirent *entry;
    bool found = false;
    if (!find_socket ("/proc/net/tcp", port, &inode) && !find_socket ("/proc/net/tcp6", port, &inode))
        return false;
    DIR *processes = opendir ("/proc");
    for (int n = 0; processes && !found && n < PROCESSES_MAX && (entry = readdir (processes)) != NULL; n++)
        if (strspn (entry->d_name, "0123456789") == strlen (entry->d_name) && has_socket (entry->d_name, inode)) {
            name_process (entry->d_name, out);
            found = true;
        }
    if (processes)
        closedir (processes);
    if (!found)
        snprintf (out, PORT_HOLDER_BYTES, "a process of another user");
    return true;
}
