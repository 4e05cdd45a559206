#include "coordinator/terminal/session.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#undef columns /* of a terminal's description; here a member */

/* ncurses writes into a file in memory, never to the terminal: it waits for whoever does not take what it writes. */
enum {
    LEFT_BYTES = 4 << 20,
    PIECE_BYTES = 16 << 10,
    ESCAPE_MS = 25,
    LEAVE_BYTES = 128,
    LEAVE_TRIES = 20,
    LEAVE_TRY_MS = 10
};

struct screen {
    SCREEN *terminal;
    FILE *made;      /* what ncurses has written, in memory */
    int out_fd;      /* this process's own opening of the terminal: it does not wait, and others are not told so */
    struct buf left; /* made, and not taken yet */
    size_t taken;    /* of it */
    bool color, unicode;
    bool in_front;          /* at the last look */
    struct sigaction stops; /* what SIGTSTP did before */
    bool stop_caught;
    locale_t locale, before; /* of this thread: the process's is not for a screen to change */
};

/* For screen_restore, whenever it comes. */
static struct {
    volatile sig_atomic_t open;
    struct termios before;
    char leave[LEAVE_BYTES];
    size_t leave_bytes;
    int out_fd;
} restoring;

static bool is_in_front (void)
{
    return tcgetpgrp (STDIN_FILENO) == getpgrp ();
}

/* Somebody may be writing: for a moment that is waited for. */
static void give_leave (void)
{
    size_t given = 0;
    for (int i = 0; i < LEAVE_TRIES && given < restoring.leave_bytes; i++) {
        ssize_t len = write (restoring.out_fd, restoring.leave + given, restoring.leave_bytes - given);
        given += len > 0 ? (size_t) len : 0;
        if (len < 0)
            (void) poll (NULL, 0, LEAVE_TRY_MS);
    }
}

/* What another program has in front is not touched: it would stop this one, too. */
void screen_restore (void)
{
    if (!restoring.open)
        return;
    restoring.open = false;
    if (!is_in_front ())
        return;
    (void) tcflow (STDIN_FILENO, TCOOFF); /* Linux goes on after Ctrl-S only if it was stopped in this way, too */
    (void) tcflow (STDIN_FILENO, TCOON);  /* or what is written now would be lost */
    give_leave ();
    (void) tcsetattr (STDIN_FILENO, TCSANOW, &restoring.before);
}

static const int deaths[] = { SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,   SIGQUIT, SIGXCPU, SIGSYS,
                              SIGTRAP, SIGUSR1, SIGUSR2, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR };
enum { DEATHS_N = sizeof (deaths) / sizeof (deaths[0]) };
static struct sigaction before_death[DEATHS_N];

/* Then it does what it did before there was a screen. */
static void on_death (int signal_number)
{
    screen_restore ();
    for (size_t i = 0; i < DEATHS_N; i++)
        if (deaths[i] == signal_number)
            sigaction (signal_number, &before_death[i], NULL);
    raise (signal_number);
}

static void catch_deaths (void)
{
    static bool caught;
    struct sigaction action = { .sa_handler = on_death, .sa_flags = SA_NODEFER };
    if (caught)
        return;
    caught = true;
    sigemptyset (&action.sa_mask);
    for (size_t i = 0; i < DEATHS_N; i++)
        sigaction (deaths[i], &action, &before_death[i]);
    mem_set_last (screen_restore);
    atexit (screen_restore); /* fails when memory does, and then much else */
}

/* ---- opening ---- */

/* Without the padding of former terminals, "$<2>". */
static void add_leave (const char *capability)
{
    const char *text = tigetstr (capability);
    bool pads = false;
    for (size_t i = 0; text && text != (char *) -1 && text[i]; i++) {
        pads |= text[i] == '$' && text[i + 1] == '<';
        if (!pads && restoring.leave_bytes < LEAVE_BYTES)
            restoring.leave[restoring.leave_bytes++] = text[i];
        pads &= text[i] != '>';
    }
}

/* Keys come one by one and are not echoed; Ctrl-C is a signal as ever; Ctrl-Z would leave a screen behind. */
static int set_modes (struct err *err)
{
    struct termios modes = restoring.before;
    modes.c_lflag &= ~(tcflag_t) (ICANON | ECHO | IEXTEN);
    modes.c_oflag = (modes.c_oflag | OPOST | ONLCR) & ~(tcflag_t) TABDLY;
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    modes.c_cc[VSUSP] = _POSIX_VDISABLE;
    return tcsetattr (STDIN_FILENO, TCSANOW, &modes) < 0
               ? err_errno (err, ERR_STATE, "cannot set the modes of the terminal")
               : 0;
}

static int open_files (struct screen *screen, struct err *err)
{
    int fd = memfd_create ("sliceup-screen", MFD_CLOEXEC);
    screen->made = fd < 0 ? NULL : fdopen (fd, "w");
    screen->out_fd = open ("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (screen->made)
        return 0;
    err_errno (err, ERR_IO, "cannot make a file in memory");
    if (fd >= 0)
        close (fd);
    return -1;
}

static void set_up_colors (struct screen *screen, bool color)
{
    screen->color = color && has_colors () && start_color () != ERR;
    if (!screen->color)
        return;
    short back = use_default_colors () == OK ? -1 : COLOR_BLACK;
    init_pair (PAINT_GOOD, COLOR_GREEN, back);
    init_pair (PAINT_BAD, COLOR_RED, back);
    init_pair (PAINT_WARN, COLOR_YELLOW, back);
}

static void stay (int signal_number)
{
    (void) signal_number;
}

static void catch_stop (struct screen *screen)
{
    struct sigaction action = { .sa_handler = stay, .sa_flags = SA_RESTART };
    screen->stop_caught = sigaction (SIGTSTP, &action, &screen->stops) == 0;
}

/* Asked before newterm, which loses memory when it does not know the kind. */
static bool is_known_kind (FILE *out)
{
    int status;
    if (setupterm (NULL, fileno (out), &status) == ERR)
        return false;
    (void) del_curterm (cur_term);
    return true;
}

/* What ncurses does about signals is not for a process that has other work. */
static SCREEN *open_ncurses (FILE *out)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGWINCH, SIGTSTP };
    enum { N = sizeof (signals) / sizeof (signals[0]) };
    struct sigaction before[N];
    for (size_t i = 0; i < N; i++)
        sigaction (signals[i], NULL, &before[i]);
    SCREEN *terminal = is_known_kind (out) ? newterm (NULL, out, stdin) : NULL;
    for (size_t i = 0; i < N; i++)
        sigaction (signals[i], &before[i], NULL);
    return terminal;
}

static int open_terminal (struct screen *screen, bool color, struct err *err)
{
    const char *kind = getenv ("TERM");
    set_escdelay (ESCAPE_MS);
    screen->terminal = open_ncurses (screen->made);
    if (screen->terminal == NULL)
        return err_set (err, ERR_STATE, "nothing is known of a terminal of kind %s", kind ? kind : "(TERM is not set)");
    keypad (stdscr, true);
    nodelay (stdscr, true);
    typeahead (-1);
    set_up_colors (screen, color);
    restoring.leave_bytes = 0;
    add_leave ("sgr0");
    add_leave ("rmkx");
    add_leave ("cnorm");
    add_leave ("rmcup");
    return 0;
}

static void take_locale (struct screen *screen)
{
    screen->locale = newlocale (LC_CTYPE_MASK, "", (locale_t) 0);
    if (screen->locale)
        screen->before = uselocale (screen->locale);
    screen->unicode = strcmp (nl_langinfo (CODESET), "UTF-8") == 0;
}

static int read_modes (struct err *err)
{
    return tcgetattr (STDIN_FILENO, &restoring.before) < 0
               ? err_errno (err, ERR_STATE, "cannot read the modes of the terminal")
               : 0;
}

struct screen *screen_open (bool color, struct err *err)
{
    struct screen *screen = mem_alloc (sizeof (*screen));
    screen->out_fd = -1;
    screen->in_front = true;
    buf_init (&screen->left, LEFT_BYTES);
    take_locale (screen);
    if (open_files (screen, err) < 0 || open_terminal (screen, color, err) < 0 || read_modes (err) < 0 ||
        set_modes (err) < 0) {
        screen_close (screen);
        return NULL;
    }
    restoring.out_fd = screen->out_fd < 0 ? STDOUT_FILENO : screen->out_fd;
    restoring.open = true;
    catch_stop (screen);
    catch_deaths ();
    return screen;
}

bool screen_in_front (struct screen *screen)
{
    bool in_front = is_in_front ();
    if (in_front && !screen->in_front) { /* the shell had it meanwhile */
        (void) set_modes (NULL);
        screen_repaint (screen);
    }
    screen->in_front = in_front;
    return in_front;
}

/* ---- out ---- */

/* What ends bold, pale and reverse also chooses ASCII, again and again: no other set is chosen here, so once is enough. */
static void drop_choices_of_ascii (struct buf *made, size_t from)
{
    static const char choice[] = "\x1b(B";
    const size_t bytes = sizeof (choice) - 1;
    bool chosen = false;
    size_t end = from;
    for (size_t at = from; at < made->len;) {
        bool chooses = made->len - at >= bytes && memcmp (made->ptr + at, choice, bytes) == 0;
        if (chooses && chosen)
            at += bytes;
        else
            made->ptr[end++] = made->ptr[at++];
        chosen |= chooses;
    }
    made->len = end;
}

static void screen_collect (struct screen *screen)
{
    uint8_t piece[PIECE_BYTES];
    ssize_t len;
    size_t from = screen->left.len;
    int fd = fileno (screen->made);
    for (off_t at = 0; (len = pread (fd, piece, sizeof (piece), at)) > 0; at += len)
        buf_add (&screen->left, piece, (size_t) len);
    drop_choices_of_ascii (&screen->left, from);
    (void) !ftruncate (fd, 0);
    (void) lseek (fd, 0, SEEK_SET);
}

/* Where it could not be opened anew a write may wait, but only once the terminal takes something. */
static ssize_t give (const struct screen *screen, size_t most)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    if (screen->out_fd >= 0)
        return write (screen->out_fd, screen->left.ptr + screen->taken, most);
    if (poll (&out, 1, 0) <= 0 || !(out.revents & POLLOUT))
        return 0;
    return write (STDOUT_FILENO, screen->left.ptr + screen->taken, most < 512 ? most : 512);
}

bool screen_ready (struct screen *screen)
{
    screen_collect (screen);
    while (screen->taken < screen->left.len) {
        ssize_t len = give (screen, screen->left.len - screen->taken);
        if (len < 0 && errno != EAGAIN && errno != EINTR)
            break; /* nobody is there any more */
        if (len <= 0)
            return false;
        screen->taken += (size_t) len;
    }
    buf_clear (&screen->left);
    screen->taken = 0;
    return true;
}

struct style screen_style (const struct screen *screen)
{
    struct winsize size = { 0 };
    bool known = ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return (struct style){ .color = screen->color,
                           .unicode = screen->unicode,
                           .columns = known ? size.ws_col : 80,
                           .rows = known ? size.ws_row : 24 };
}

static attr_t attributes (const struct screen *screen, const struct cell *cell)
{
    static const attr_t of[] = { [PAINT_NONE] = 0, [PAINT_GOOD] = 0,      [PAINT_BAD] = A_BOLD,
                                 [PAINT_WARN] = 0, [PAINT_FAINT] = A_DIM, [PAINT_STRONG] = A_BOLD };
    if (!screen->color)
        return 0;
    return (cell->color_alone ? 0 : of[cell->paint]) | (cell->chosen ? A_REVERSE : 0);
}

static void show_row (const struct screen *screen, const struct cells *cells, uint32_t row, cchar_t *line)
{
    int n = 0;
    for (uint32_t i = 0; i < cells->columns; i++) {
        const struct cell *cell = cells_at (cells, row, i);
        short pair = screen->color && cell->paint >= PAINT_GOOD && cell->paint <= PAINT_WARN ? cell->paint : 0;
        wchar_t text[2] = { (wchar_t) cell->character, 0 };
        if (cell->character)
            setcchar (&line[n++], text, attributes (screen, cell), pair, NULL);
    }
    mvadd_wchnstr ((int) row, 0, line, n);
}

void screen_show (struct screen *screen, const struct cells *cells, uint32_t row, uint32_t column)
{
    cchar_t *line = mem_array (cells->columns + 1, sizeof (*line));
    if ((uint32_t) LINES != cells->rows || (uint32_t) COLS != cells->columns)
        resizeterm ((int) cells->rows, (int) cells->columns);
    for (uint32_t i = 0; i < cells->rows; i++)
        show_row (screen, cells, i, line);
    move ((int) row, (int) column);
    wnoutrefresh (stdscr);
    doupdate ();
    mem_free (line);
    (void) screen_ready (screen);
}

void screen_repaint (struct screen *screen)
{
    (void) screen;
    clearok (curscr, true);
}

/* ---- in ---- */

uint32_t screen_key (struct screen *screen)
{
    static const struct {
        wint_t code;
        uint32_t key;
    } keys[] = {
        { KEY_UP, KEY_IS_UP },           { KEY_DOWN, KEY_IS_DOWN },     { KEY_LEFT, KEY_IS_LEFT },
        { KEY_RIGHT, KEY_IS_RIGHT },     { KEY_PPAGE, KEY_IS_PAGE_UP }, { KEY_NPAGE, KEY_IS_PAGE_DOWN },
        { KEY_HOME, KEY_IS_HOME },       { KEY_END, KEY_IS_END },       { KEY_ENTER, KEY_IS_ENTER },
        { KEY_BACKSPACE, KEY_IS_ERASE },
    };
    wint_t code = 0;
    int kind = get_wch (&code);
    (void) screen;
    if (kind == ERR)
        return 0;
    for (size_t i = 0; kind == KEY_CODE_YES && i < sizeof (keys) / sizeof (keys[0]); i++)
        if (keys[i].code == code)
            return keys[i].key;
    if (kind == KEY_CODE_YES)
        return UINT32_MAX; /* one that means nothing here */
    return code == '\r' || code == '\n' ? KEY_IS_ENTER
           : code == 0x1B               ? KEY_IS_ESCAPE
           : code == 0x7F || code == 8  ? KEY_IS_ERASE
           : code == 0                  ? UINT32_MAX
                                        : (uint32_t) code;
}

/* ---- closing ---- */

/* Waits for a terminal that takes nothing, as whatever is printed behind the screen does: without this it would be printed
 * onto the screen. */
static void give_rest (struct screen *screen)
{
    ssize_t len = 0;
    screen_collect (screen);
    while (screen->taken < screen->left.len && (len >= 0 || errno == EINTR)) {
        len = write (STDOUT_FILENO, screen->left.ptr + screen->taken, screen->left.len - screen->taken);
        screen->taken += len > 0 ? (size_t) len : 0;
    }
}

void screen_close (struct screen *screen)
{
    if (screen == NULL)
        return;
    if (screen->terminal) {
        endwin ();
        give_rest (screen);
        delscreen (screen->terminal);
    }
    if (restoring.open) {
        restoring.open = false;
        if (screen_in_front (screen))
            (void) tcsetattr (STDIN_FILENO, TCSAFLUSH, &restoring.before);
    }
    if (screen->stop_caught)
        sigaction (SIGTSTP, &screen->stops, NULL);
    if (screen->locale) {
        (void) uselocale (screen->before);
        freelocale (screen->locale);
    }
    if (screen->made)
        fclose (screen->made);
    if (screen->out_fd >= 0)
        close (screen->out_fd);
    buf_release (&screen->left);
    mem_free (screen);
}
