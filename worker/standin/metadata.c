#include "worker/standin/metadata.h"

#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SERVER "169.254.169.254"
enum { ATTRIBUTES_MAX = 8, VALUES_MAX = 16, VALUE_BYTES = 4096, NAME_BYTES = 64, HOST_BYTES = 256 };

static int metadata_connect_to (const char *server)
{
    char name[HOST_BYTES];
    const struct timeval limit = { .tv_sec = METADATA_DEADLINE_MS / 1000 };
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *colon = strchr (server, ':');
    snprintf (name, sizeof name, "%.*s", colon ? (int) (colon - server) : HOST_BYTES - 1, server);
    if (getaddrinfo (name, colon ? colon + 1 : "80", &wanted, &found) != 0)
        return -1;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void) setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* bounds connect as well */
    if (fd >= 0 && connect (fd, found->ai_addr, found->ai_addrlen) < 0) {
        close (fd);
        fd = -1;
    }
    freeaddrinfo (found);
    return fd;
}

/* The body of an answer with status 200. */
static char *body_of (char *answer)
{
    char *body = strstr (answer, "\r\n\r\n");
    return strncmp (answer, "HTTP/1.", 7) == 0 && strncmp (answer + 8, " 200", 4) == 0 && body ? body + 4 : NULL;
}

static uint64_t now_ms (void)
{
    struct timespec now = { 0 };
    (void) clock_gettime (CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static char *ask (const char *attribute)
{
    static char answer[METADATA_MAX_BYTES + 1];
    char request[512];
    const char *given = getenv ("GCE_METADATA_IP"), *server = given && given[0] ? given : SERVER;
    int fd = metadata_connect_to (server);
    ssize_t got = 0;
    size_t n = 0;
    uint64_t until_ms = now_ms () + METADATA_DEADLINE_MS;
    int len = snprintf (
        request, sizeof request,
        "GET /computeMetadata/v1/instance/attributes/%s HTTP/1.0\r\nHost: %s\r\nMetadata-Flavor: Google\r\n\r\n",
        attribute, server);
    if (fd < 0)
        return NULL;
    if (len < (int) sizeof request && send (fd, request, (size_t) len, MSG_NOSIGNAL) == len)
        while (n < METADATA_MAX_BYTES && now_ms () < until_ms &&
               (got = recv (fd, answer + n, METADATA_MAX_BYTES - n, 0)) > 0)
            n += (size_t) got;
    close (fd);
    answer[n] = '\0';
    return got != 0 || n == METADATA_MAX_BYTES ? NULL : body_of (answer); /* 0: the answer is whole */
}

static const char *attribute_text (const char *attribute)
{
    static struct {
        char name[NAME_BYTES], *text;
    } known[ATTRIBUTES_MAX];
    int i = 0;
    while (i < ATTRIBUTES_MAX && known[i].name[0] && strcmp (known[i].name, attribute) != 0)
        i++;
    if (i == ATTRIBUTES_MAX)
        return NULL; /* libtpu asks for three */
    if (!known[i].name[0]) {
        const char *body = ask (attribute);
        snprintf (known[i].name, sizeof known[i].name, "%s", attribute);
        known[i].text = body ? strdup (body) : NULL;
    }
    return known[i].text;
}

int metadata_find_key (const char *lines, const char *key, char *value, unsigned size)
{
    size_t key_len = strlen (key);
    for (const char *line = lines; line && *line; line = strchr (line, '\n') ? strchr (line, '\n') + 1 : NULL) {
        if (strncmp (line, key, key_len) != 0 || line[key_len] != ':')
            continue;
        const char *from = line + key_len + 1 + strspn (line + key_len + 1, " '\"");
        size_t len = strcspn (from, "'\"\r\n");
        if (len >= size)
            return 0;
        memcpy (value, from, len);
        value[len] = '\0';
        return 1;
    }
    return 0;
}

const char *metadata_get (const char *attribute, const char *key)
{
    static char values[VALUES_MAX][VALUE_BYTES];
    static unsigned values_n;
    const char *text = attribute_text (attribute);
    if (!text || !key)
        return text;
    char *value = values[values_n++ % VALUES_MAX];
    return metadata_find_key (text, key, value, VALUE_BYTES) ? value : NULL;
}
