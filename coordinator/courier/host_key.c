#include "coordinator/courier/ssh_login.h"

#include "common/io/fd.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
    NAME_BYTES = 300,
    FINGERPRINT_BYTES = 64,
    FOUND_BYTES = 160,
    ALIAS_FILE_MAX_BYTES = 1 << 20,
    KNOWN_HOSTS_MAX_BYTES = 64 << 20
}; /* 100,000 hosts with three keys each */

/* What the file says about the host. */
struct record {
    char name[NAME_BYTES]; /* as the file writes it: host, or [host]:port */
    ssh_key key;           /* the server's; borrowed */
    bool is_known, is_revoked;
    uint32_t broken_line;              /* first unreadable line that names the host; 0: none */
    char same_type[FINGERPRINT_BYTES]; /* another key of the shown type */
    struct buf types;                  /* of other keys, with their fingerprints */
    struct reporter *reporter;
    struct buf *lines; /* not NULL: only collects the lines that name the host */
};

static void fingerprint (ssh_key key, char out[FINGERPRINT_BYTES])
{
    unsigned char *hash = NULL;
    size_t hash_bytes = 0;
    char *text = NULL;
    if (ssh_get_publickey_hash (key, SSH_PUBLICKEY_HASH_SHA256, &hash, &hash_bytes) == 0)
        text = ssh_get_fingerprint_hash (SSH_PUBLICKEY_HASH_SHA256, hash, hash_bytes);
    snprintf (out, FINGERPRINT_BYTES, "%s", text ? text : "(no fingerprint)");
    ssh_string_free_char (text);
    ssh_clean_pubkey_hash (&hash);
}

static const char *host_key_type_of (ssh_key key)
{
    const char *name = ssh_key_type_to_char (ssh_key_type (key)); /* with its curve */
    return name ? name : "unknown";
}

/* Names are matched without regard to case, as OpenSSH and libssh do (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). */
static void host_key_name_of (char out[NAME_BYTES], const char *address, uint16_t port)
{
    if (port == 22)
        snprintf (out, NAME_BYTES, "%s", address);
    else
        snprintf (out, NAME_BYTES, "[%s]:%u", address, port);
    for (char *at = out; *at; at++)
        *at = (char) tolower ((unsigned char) *at);
}

/* ---- lines ---- */

static bool names_host (const char *pattern, size_t len, const char *rest, const char *name)
{
    struct ssh_knownhosts_entry *entry = NULL;
    LOCAL_MEM char *line = NULL;
    if (asprintf (&line, "%.*s%s", (int) len, pattern, rest) < 0)
        mem_exit_exhausted (0);
    bool matches = ssh_known_hosts_parse_line (name, line, &entry) == SSH_OK;
    ssh_knownhosts_entry_free (entry);
    return matches;
}

/* "*.example,!bad.example": a name that matches a pattern after '!' is excluded, whatever the other patterns. */
static bool is_negated (const char *line, const char *name)
{
    size_t hosts = strcspn (line, " \t");
    for (size_t at = 0; at < hosts; at += strcspn (line + at, ", \t") + 1) {
        size_t len = strcspn (line + at, ", \t");
        if (line[at] == '!' && names_host (line + at + 1, len - 1, line + hosts, name))
            return true;
    }
    return false;
}

static void note_key (struct record *record, ssh_key key, bool revoked)
{
    char found[FINGERPRINT_BYTES];
    bool same = ssh_key_cmp (record->key, key, SSH_KEY_CMP_PUBLIC) == 0;
    if (revoked) {
        record->is_revoked = record->is_revoked || same;
        return;
    }
    record->is_known = record->is_known || same;
    fingerprint (key, found);
    if (!same && ssh_key_type (key) == ssh_key_type (record->key))
        memcpy (record->same_type, found, sizeof found);
    else if (!same)
        buf_printf (&record->types, "%s%s %s", record->types.len ? ", " : "", host_key_type_of (key), found);
}

static void copy_line (struct buf *out, const char *line, bool revoked)
{
    if (!revoked)
        buf_printf (out, HOST_KEY_ALIAS_STAND_IN "%s\n", line + strcspn (line, " \t"));
}

static void host_key_read_line (struct record *record, char *line, uint32_t number)
{
    struct ssh_knownhosts_entry *entry = NULL;
    bool revoked = false;
    line += strspn (line, " \t");
    line[strcspn (line, "\r\n")] = '\0';
    if (*line == '@') {
        revoked = strncmp (line, "@revoked", 8) == 0;
        line += strcspn (line, " \t");
        line += strspn (line, " \t");
        if (!revoked) /* certificate authorities are not supported: their hosts stay unknown */
            return;
    }
    if (*line == '\0' || *line == '#')
        return;
    int rc = ssh_known_hosts_parse_line (record->name, line, &entry);
    if (rc == SSH_OK && !is_negated (line, record->name))
        record->lines ? copy_line (record->lines, line, revoked) : note_key (record, entry->publickey, revoked);
    else if (rc != SSH_OK && rc != SSH_AGAIN && record->broken_line == 0)
        record->broken_line = number;
    ssh_knownhosts_entry_free (entry);
}

int host_key_file_check (const char *known_hosts, struct err *err)
{
    struct stat st;
    if (stat (known_hosts, &st) != 0)
        return err_errno (err, ERR_IO, "cannot read the file of known host keys, %s (ssh.known_hosts)", known_hosts);
    bool null = S_ISCHR (st.st_mode) && st.st_rdev == makedev (1, 3); /* the usual way to say "none": devices.txt */
    if (!S_ISREG (st.st_mode) && !null)
        return err_set (err, ERR_REFUSED, "%s is not a regular file, expected the known host keys (ssh.known_hosts)",
                        known_hosts);
    if (st.st_size > KNOWN_HOSTS_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "%s is larger than %d MiB, expected the known host keys (ssh.known_hosts)",
                        known_hosts, KNOWN_HOSTS_MAX_BYTES >> 20);
    return 0;
}

static int host_key_read_file (struct record *record, const char *known_hosts, struct err *err)
{
    FILE *file = fopen (known_hosts, "re");
    LOCAL_MEM char *line = NULL;
    size_t room = 0;
    if (!file)
        return err_errno (err, ERR_IO, "cannot read the file of known host keys, %s (ssh.known_hosts)", known_hosts);
    for (uint32_t number = 1; getline (&line, &room, file) >= 0; number++)
        host_key_read_line (record, line, number);
    bool failed = ferror (file) != 0;
    (void) fclose (file); /* only read */
    return failed ? err_set (err, ERR_IO, "cannot read all of the file of known host keys, %s", known_hosts) : 0;
}

int host_key_alias_file (const char *known_hosts, const char *alias, struct err *err)
{
    LOCAL_BUF lines = { .max = ALIAS_FILE_MAX_BYTES };
    struct record record = { .lines = &lines };
    int fd = memfd_create ("known_hosts", MFD_CLOEXEC);
    host_key_name_of (record.name, alias, 22);
    int rc = host_key_read_file (&record, known_hosts, err);
    if (rc == 0 && lines.overflow)
        rc = err_set (err, ERR_LIMIT, "more than %d bytes of %s name this host", ALIAS_FILE_MAX_BYTES, known_hosts);
    else if (rc == 0 && (fd < 0 || fd_write (fd, lines.ptr, lines.len) != 0))
        rc = err_errno (err, ERR_IO, "cannot keep the known keys of this host in memory");
    if (rc == 0)
        return fd;
    fd_close (fd);
    return -1;
}

/* ---- the verdict ---- */

/* Without the host's own key, so that all unknown hosts have the same words. */
static int refuse_unknown (const struct record *record, const char *type, const char *seen, const char *known_hosts,
                           struct err *err)
{
    char presented[NAME_BYTES + FOUND_BYTES];
    const char *jump = record->reporter->jump_host;
    snprintf (presented, sizeof presented, "%s%s presented the %s host key %s", *jump ? "jump host " : "",
              *jump ? jump : "it", type, seen);
    reporter_send_remark (record->reporter, presented);
    return err_set (err, ERR_REFUSED,
                    "%s has no key of this host. Fetch the key that it presents (ssh-keyscan), compare its fingerprint "
                    "(ssh-keygen -lf) with one from the host itself, and add it",
                    known_hosts);
}

static int host_key_judge (struct record *record, enum ssh_known_hosts_e verdict, const char *known_hosts,
                           struct err *err)
{
    char seen[FINGERPRINT_BYTES];
    const char *type = host_key_type_of (record->key);
    fingerprint (record->key, seen);
    if (record->is_revoked)
        return err_set (err, ERR_REFUSED, "the host presented the %s key %s, which %s marks as revoked", type, seen,
                        known_hosts);
    if (record->is_known && verdict == SSH_KNOWN_HOSTS_OK)
        return 0;
    if (record->is_known)
        return err_set (err, ERR_REFUSED, "%s cannot be used: line %u names this host, but cannot be parsed",
                        known_hosts, record->broken_line);
    if (*record->same_type)
        return err_set (err, ERR_REFUSED,
                        "the host key has changed: the host presented %s %s, but %s holds %s. Another machine may be "
                        "answering; if the host was reinstalled, verify its key and replace the line",
                        type, seen, known_hosts, record->same_type);
    if (record->types.len)
        return err_set (
            err, ERR_REFUSED,
            "the host presented a key of another type, %s %s, but %s holds %s. Verify the key on the host and add it",
            type, seen, known_hosts, buf_c (&record->types));
    if (record->broken_line)
        return err_set (err, ERR_REFUSED,
                        "the host presented the %s key %s; line %u of %s names this host but cannot be parsed", type,
                        seen, record->broken_line, known_hosts);
    return refuse_unknown (record, type, seen, known_hosts, err);
}

int host_key_check (ssh_session session, const struct ssh_login *login, const char *name, uint16_t port,
                    struct err *err)
{
    struct record record = { .reporter = login->reporter };
    const char *known_hosts = login->ssh->known_hosts;
    int rc = -1;
    buf_init (&record.types, FOUND_BYTES);
    host_key_name_of (record.name, name, port);
    if (ssh_get_server_publickey (session, &record.key) != SSH_OK)
        err_set (err, ERR_REFUSED, "the host presented no key");
    else if (host_key_read_file (&record, known_hosts, err) == 0)
        rc = host_key_judge (&record, ssh_session_is_known_server (session), known_hosts, err);
    ssh_key_free (record.key);
    buf_release (&record.types);
    return rc;
}
