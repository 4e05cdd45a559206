/* page.js - draws a run: what sliceup-web tells of it (docs/spec/web.md), or what a report has inside.
 *
 * `run` is what is known of the run, `view` what the person chose. An update changes `run`, a key changes `view`, and
 * both ask for the parts that show it to be drawn again, at the next frame. Text becomes text nodes, through `visible`,
 * and never markup. It asks and never tells: nothing here changes a run. */
"use strict";
(() => {

const LOG_BYTES = 256 * 1024, LOG_PIECE_BYTES = 64 * 1024, TABLE_ROWS = 200, NOTES_KEPT = 256, PAUSE_MS = 50, HOST_PAUSE_MS = 1000, FRAMES_KEPT = 256;
const LETTER_PIXELS = 18, NAMED_HOSTS = 32, TILE_MIN = 14, TILE_MIN_PHONE = 22, TILE_MAX = 40, GAP = 6, CANVAS_PIXELS = 12e6;
const DOTS_APART = 100, PHASES_PLOTTED = 64, CHANGED = 0.1, CHANGED_MS = 100, CHANGES_TOLD = 6, RUNS_COMPARED = 8;
const SLOW_TIMES = 2, SLOWER_TIMES = 1.5, SLOW_LEAST_MS = 3000, SLOW_TOLD = 8, STANDS_OUT = 1.25, STANDS_OUT_MS = 500, NOTE_BYTES = 512;

/* letter: word, colour of page.css, how bad: 2 by itself, 1 because of others, 0.5 worth a look */
const MARKS = {
    ".": ["to come", "come", 0], "P": ["passed", "passed", 0], "-": ["not reached", "come", 0], "r": ["runs", "runs", 0],
    "g": ["at a gate", "gate", 0], "e": ["ended", "ended", 0], "f": ["failed so far", "sofar", 2], "F": ["failed", "failed", 2],
    "T": ["timed out", "late", 2], "L": ["lost", "lost", 2], "B": ["blocked", "blocked", 2], "h": ["hangs", "doubt", 2], "?": ["silent", "doubt", 2],
    "c": ["cascade", "cascade", 1], "X": ["cancelled", "cancelled", 1], "s": ["slow", "doubt", 0.5], "q": ["quiet", "doubt", 0.5], "j": ["not joined", "come", 0],
};
/* By what words of a sentence it is known which trouble it tells of; whose it is stands in `summary.troubles`. */
const TROUBLES = [[/^suspect: .* stands? /, "h"], [/ clearly longer than the others/, "s"], [/ printed nothing for /, "q"], [/ silent for /, "?"]];
const OUTCOME_LETTERS = { "passed": "P", "not-reached": "-", "cascade": "c", "blocked": "B", "lost": "L", "failed": "F",
                          "timed-out": "T", "cancelled": "X" };
const OWNERS = { device: "the device", launch: "how it was launched", bundle: "the installed versions", cache: "the compile cache", compiler: "the compiler",
                 peer: "another host", program: "your program", host: "the host", platform: "the platform", sliceup: "sliceup", unknown: "not known" };
const KEYS = [["arrows", "move among the hosts"], ["Enter", "open the host"], ["n", "next failure; Enter opens it"], ["/", "filter"],
              ["m", "mark the host; two that are marked are compared"], ["d", "drift as a second layer"],
              ["Esc", "all hosts again"], ["?", "this list"]];

/* ---- small things ---- */

const byId = id => document.getElementById(id);
const known = value => value !== null && value !== undefined;
const number = value => known(value) ? Number(value).toLocaleString("en-US") : "unknown";
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

/* What a terminal or a browser would obey or hide, shown: control bytes but newline and tab, overrides, zero widths. */
function visible(text) {
    return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
        c => c < "\u0100" ? "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0") : `\\u{${c.charCodeAt(0).toString(16)}}`);
}

function put(node, attributes, content) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name.startsWith("on"))
            node.addEventListener(name.slice(2), value);
        else if (value !== null && value !== false && value !== undefined)
            node.setAttribute(name, value === true ? "" : value);
    }
    for (const item of content.flat(Infinity))
        if (item !== null && item !== undefined && item !== "")
            node.append(item instanceof Node ? item : visible(item));
    return node;
}
const el = (tag, attributes, ...content) => put(document.createElement(tag), attributes, content);
const svg = (tag, attributes, ...content) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, content);
const said = text => el("span", { class: "said" }, text);
const button = (text, act, more) => el("button", { type: "button", onclick: act, ...more }, text);

function setText(node, text) {
    const wanted = visible(text);
    if (node.textContent !== wanted)
        node.textContent = wanted; // only then is it read out again
}

/* What came cut at so many bytes (a letter has up to four) ends at a word, and says that more was there. */
function cutAtWord(text, size) {
    const cut = new TextEncoder().encode(text).length > size - 4 && !/[.…]$/.test(text);
    return cut ? text.replace(/\s+\S{0,40}$/, "") + " …" : text;
}

let pressed = null, kept = false;

function press(node) {
    pressed = node;
    if (!pressed && kept)
        draw(...Object.keys(PARTS));
    kept = kept && Boolean(pressed);
}

/* Content in place of what was there; whoever had the focus gets it again. */
function fill(node, ...content) {
    if (pressed && node.contains(pressed)) {
        kept = true; // what is under a pressed button or key stays until it is let go, or the click is lost
        return;
    }
    const key = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    node.replaceChildren();
    put(node, null, content);
    if (key)
        [...node.querySelectorAll("[data-key]")].find(item => item.dataset.key === key)?.focus({ preventScroll: true });
}

/* rows: arrays of cells; {row: [...], ...attributes} for a row with attributes */
function table(caption, heads, rows) {
    const line = row => {
        const { row: cells, ...attributes } = Array.isArray(row) ? { row } : row;
        return el("tr", attributes, cells.map((cell, i) => i ? el("td", null, cell) : el("th", { scope: "row" }, cell)));
    };
    return el("div", { class: "scroll" }, el("table", null, caption ? el("caption", null, caption) : null,
        el("thead", null, el("tr", null, heads.map(head => el("th", { scope: "col" }, head)))),
        el("tbody", null, rows.map(line))));
}

/* Nothing, where it is not known. Cut and never rounded up, as the terminal has it (duration_print). */
function duration(ms) {
    if (!known(ms))
        return "";
    const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
    if (ms < 1000)
        return `${Math.floor(ms)} ms`;
    if (s < 60)
        return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
    return h ? `${h} h ${m % 60} min` : `${m} min ${s % 60} s`;
}
/* In the largest unit of which there is one. */
function bytes(n) {
    const power = Math.min(4, Math.floor(Math.log2(Math.max(1, n)) / 10)), of = n / 1024 ** power;
    return `${power && of < 10 ? of.toFixed(1) : Math.floor(of)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}
const clock = wallMs => wallMs ? new Date(wallMs).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
const atRung = (index, pass) => (run.rungs[index]?.id ?? "?") + (pass && pass !== "once" ? ` (${pass})` : "");

function paint(badge, letter) {
    badge.style.setProperty("background", `var(--${MARKS[letter]?.[1] ?? "come"})`);
    badge.style.setProperty("color", inkOn(colours[letter] ?? "#888888"));
    return badge;
}
const markOf = letter => paint(el("span", { class: "mark" }, letter), letter);
const marked = letter => [markOf(letter), " ", MARKS[letter]?.[0] ?? letter];

/* ---- what is known of the run ---- */

const embedded = byId("sliceup-data") ? JSON.parse(byId("sliceup-data").textContent) : null;
const address = new URLSearchParams(location.hash.slice(1));
let run = nothingKnown(), colours = {};
const view = { run: address.get("run") || "last", opened: null, cursor: 0, pointed: false, layer: -1, drift: false, marked: [], filter: "", range: null, wrong: "" };
let within = { of: "", ranks: null, boot: "", revision: -1, at: 0 }; // by rank: who was there in a range of time
let shown = new Uint8Array(0), driftOf = new Uint8Array(0); // by rank
let hosts = {};   // name: what /api/host says
let log = null;   // what is read of a log
let numbers = { of: "", list: [], over: null }; // by host; `over`: of several runs
let readAt = 0;   // when a host was asked for
let asking = new AbortController(); // aborted while the page is hidden, and when another run is chosen

function nothingKnown() {
    return { boot: "", revision: 0, nowMs: 0, summary: null, names: [], now: "", stands: "", troubles: { of: null, letters: [] }, cells: [], rungs: [], phases: { words: [], of: "" }, groups: [], groupOf: "", leftOut: 0, ungrouped: 0,
             metrics: [], gates: [], notes: [], skipped: 0 };
}

/* A table comes by columns. */
const rowsOf = columns => Object.values(columns)[0]?.map((value, i) =>
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[i]]))) ?? [];

function countLetters(letters) {
    const counts = {};
    for (const letter of letters)
        counts[letter] = (counts[letter] ?? 0) + 1;
    return counts;
}

/* Letters that stand for numbers. */
const numberOf = letter => letter.charCodeAt(0) - 58;
const phaseOf = rank => run.phases.words[numberOf(run.phases.of[rank] ?? ":")] ?? "";
const groupOf = rank => run.groups[numberOf(run.groupOf[rank] ?? ":") - 1];

function takeGroups(state) {
    for (const group of rowsOf(state.groups))
        run.groups[group.index] = group;
    run.groups.length = state.groups_n;
    run.groupOf = state.group_of;
    run.leftOut = state.groups_left_out;
    run.ungrouped = state.ungrouped;
}

/* Letters of hosts that run and are in trouble, in place of how they stand. */
function takeTroubles() {
    const said = run.summary.state === "running" ? run.summary.troubles ?? {} : {}, of = JSON.stringify(said);
    if (run.troubles.of !== of) {
        const rules = Object.entries(said).map(([letter, hosts]) => [letter, hostSet(hosts)]);
        run.troubles = { of, letters: rules.length ? run.names.map(name => rules.find(([, holds]) => holds(name))?.[0] ?? "") : [] };
    }
    const { letters } = run.troubles;
    run.stands = letters.some(Boolean) ? [...run.now].map((letter, rank) => "rge".includes(letter) && letters[rank] || letter).join("") : run.now;
}

/* One answer of /api/state: what it lacks is as it was. */
function takeState(state) {
    if (state.whole)
        run = nothingKnown();
    Object.assign(run, { boot: state.boot, revision: state.revision, nowMs: state.now_ms, summary: state.summary, id: state.run });
    if (state.names)
        run.names = state.names;
    for (const rung of state.rungs ?? []) {
        rung.saidMs = state.now_ms;
        run.rungs[rung.index] = rung;
        run.cells[rung.index] = rung.cells;
        rung.counts = countLetters(run.cells[rung.index]);
    }
    if (state.now !== undefined)
        run.now = state.now;
    takeTroubles();
    if (state.phases)
        run.phases = state.phases;
    if (state.groups)
        takeGroups(state);
    for (const part of ["metrics", "gates"])
        if (state[part])
            run[part] = rowsOf(state[part]);
    run.notes = run.notes.concat(state.notes ?? []).slice(-NOTES_KEPT);
    run.skipped += state.notes_skipped ?? 0;
    choose();
    draw("summary", "tiles", state.notes?.length || state.whole ? "notes" : "", run.groups.length ? "" : "groups");
    draw(...["groups", "metrics", "gates"].filter(part => state[part]), "ladder", "table");
}

const lettersShown = () => view.layer < 0 ? run.stands : run.cells[view.layer] ?? "";
const isBad = (letter, least) => (MARKS[letter]?.[2] ?? 0) >= least;

/* ---- which hosts are shown ---- */

/* Cuts at commas that stand in no brackets. */
const hostItems = text => text.match(/(?:[^,[\]]|\[[^\]]*\])+/g) ?? [];

function rangeHolds(range, digits) {
    const [, low, high, step] = range.match(/^(\d+)(?:-(\d+))?(?:\/(\d+))?$/) ?? [];
    const n = Number(digits);
    if (low === undefined || n < Number(low) || n > Number(high ?? low) || (n - Number(low)) % Number(step || 1))
        return false;
    return low.length > 1 && low[0] === "0" ? digits.length === low.length : String(n) === digits;
}

/* "v6e-[0-3,7]" as a question about one name. */
function hostItem(item) {
    const parts = item.split(/\[([^\]]*)\]/);
    const quoted = parts.map((part, i) => i % 2 ? "(\\d+)" : part.replace(/[.*+?^${}()|\\/-]/g, "\\$&")).join("");
    const form = new RegExp(`^${quoted}$`);
    return name => {
        const found = name.match(form);
        return Boolean(found) && found.slice(1).every((digits, i) => parts[2 * i + 1].split(",").some(range => rangeHolds(range, digits)));
    };
}

function hostSet(text) {
    const whole = new Set(), items = [];
    for (const item of hostItems(text))
        item.includes("[") ? items.push(hostItem(item)) : whole.add(item.trim());
    return name => whole.has(name) || items.some(holds => holds(name));
}

function textHolds(word, rank) {
    const group = groupOf(rank);
    return [run.names[rank], phaseOf(rank), group?.line, group?.cause].some(text => text?.toLowerCase().includes(word));
}

const UNITS = { ms: 1, s: 1000, m: 60000, min: 60000, h: 3600000, d: 86400000 };

/* "1.5h" in whole ms, as duration.h reads it; null: it is none. */
function readDuration(text) {
    const [, n, unit] = text.match(/^(\d+(?:\.\d{1,9})?)(ms|s|m|min|h|d)$/) ?? [];
    const ms = Number(n) * UNITS[unit], whole = Math.round(ms);
    return Math.abs(ms - whole) < 1e-6 && whole <= 365 * UNITS.d ? whole : null;
}

/* "40s-2min", "2min-" or "-90s", as the terminal reads it (filter.h). */
function readRange(text) {
    const cut = text.indexOf("-"), ends = [text.slice(0, cut), text.slice(cut + 1)];
    if (cut < 0 || text.length < 2)
        throw new Error(`time:${text} is no range of time; expected FROM-UNTIL, FROM- or -UNTIL, as in time:40s-2min`);
    const [from, until] = ends.map(end => end ? readDuration(end) : 0);
    if (from === null || until === null)
        throw new Error(`time:${text}: ${ends[from === null ? 0 : 1]} is no duration; expected a number and ms, s, m, h or d`);
    if (ends[1] && until <= from)
        throw new Error(`time:${text} holds no time: it has to end later than it begins`);
    return { from, until };
}

const isWithin = ({ from, until }, beganMs, endedMs) => Math.max(endedMs, beganMs + 1) > from && (!until || beganMs < until);
/* What runs is there up to now, and what has no length of its own until its verdict. */
const isThere = (range, attempt) => isWithin(range, attempt.began_ms, attempt.ended_ms ?? attempt.began_ms + attempt.ms + 1);

/* A range that is not understood hides nobody, and is told. */
function timeWord(value) {
    try {
        view.range = readRange(value);
    } catch (error) {
        view.wrong = error.message;
        return () => true;
    }
    const { of, ranks } = within;
    return rank => of !== nameOfRange() || Boolean(ranks[rank]); // all, until it is known
}

/* One word of the filter as a question about a rank. */
function filterWord(word) {
    const [, kind, value] = word.match(/^(hosts|outcome|owner|phase|rung|group|time):(.*)$/) ?? [];
    switch (kind) {
    case "outcome": {
        const wanted = value.split(",").map(one => one.replaceAll(" ", "-"));
        return rank => wanted.some(one => (MARKS[lettersShown()[rank]]?.[0] ?? "").replaceAll(" ", "-").startsWith(one));
    }
    case "hosts": {
        const holds = hostSet(value);
        return rank => holds(run.names[rank]);
    }
    case "owner": return rank => groupOf(rank)?.owner === value;
    case "phase": return rank => phaseOf(rank).startsWith(value);
    case "group": return rank => groupOf(rank)?.index === Number(value);
    case "time": return timeWord(value);
    case "rung": return rank => run.rungs[groupOf(rank)?.rung]?.id === value;
    }
    if (/[[,]/.test(word)) {
        const holds = hostSet(word);
        return rank => holds(run.names[rank]);
    }
    return rank => textHolds(word.toLowerCase(), rank);
}

function choose() {
    view.range = null;
    view.wrong = "";
    const words = view.filter.split(/\s+/).filter(Boolean).map(filterWord);
    shown = new Uint8Array(run.names.length);
    for (let rank = 0; rank < shown.length; rank++)
        shown[rank] = words.every(holds => holds(rank)) ? 1 : 0;
}

function setFilter(text) {
    view.filter = byId("filter").value = text;
    choose();
    readWithin(true);
    draw("tiles", "table", "summary", "host", "pair", "notes", "gates");
}

/* ---- who was there in a range of time ---- */

const nameOfRange = () => view.range && `${run.id} ${view.range.from}-${view.range.until}`;

/* A report knows the attempts alone. */
function withinReport(range) {
    const ranks = new Uint8Array(run.names.length);
    for (const pass of embedded.passes ?? [])
        attemptsOfPass(pass).forEach(attempt => { ranks[attempt.rank] |= isThere(range, attempt); });
    for (const { rank, attempts } of embedded.hosts ?? [])
        ranks[rank] |= attempts.some(attempt => isThere(range, attempt));
    return ranks;
}

/* What is shared by all who ask may be of a revision before the one that is known here; then it is asked for again. */
const isWithinNew = of => within.of === of && within.boot === run.boot && within.revision >= run.revision;

async function readWithin(atOnce) {
    const of = nameOfRange(), { range } = view;
    if (!range || isWithinNew(of) || (!atOnce && performance.now() - within.at < HOST_PAUSE_MS))
        return;
    within.at = performance.now();
    try {
        const answer = embedded ? run : await ask("within", { time: `${range.from}-${range.until}` });
        const ranks = embedded ? withinReport(range) : Uint8Array.from(answer.hosts, letter => letter === "x" ? 1 : 0);
        if (of !== nameOfRange())
            return; // another one by now
        within = { of, ranks, boot: answer.boot, revision: answer.revision, at: within.at };
        choose();
        draw("tiles", "table", "summary");
    } catch (error) {
        if (error.name !== "AbortError")
            trouble(String(error.message ?? error));
    }
}

/* ---- tiles ---- */

const canvas = byId("tiles"), map = byId("map"), narrow = matchMedia("(max-width: 40rem)");
canvas.frames = []; // how long the newest frames took to draw, ms
const columns = () => Math.max(1, run.summary?.columns || Math.ceil(Math.sqrt(run.names.length)));
let grid = fold(0, 1, 1); // where each tile stands
let painted = []; // by rank: what the tile was drawn from
let stamps = {};  // the same: its picture

/* Rows of the mesh, folded until they are nearly a square, or fit into `most` columns: a row that is too long goes on below,
 * and rows that are too many go on beside, each time behind a gap. */
function fold(n, wide, most) {
    const tall = Math.ceil(n / wide) || 1, pieces = most < Infinity ? Math.ceil(wide / most) : wide > 2 * tall ? Math.round(Math.sqrt(wide / tall)) : 1;
    const beside = pieces === 1 && tall > 2 * wide ? Math.max(1, Math.min(Math.floor(most / wide), Math.round(Math.sqrt(tall / wide)))) : 1;
    const piece = Math.ceil(wide / pieces), rows = Math.ceil(tall / beside);
    return {
        columns: piece * beside, lines: rows * pieces, perX: piece, perY: pieces > 1 ? pieces : rows,
        of: rank => {
            const row = Math.floor(rank / wide), column = rank % wide;
            return [Math.floor(row / rows) * piece + column % piece, row % rows * pieces + Math.floor(column / piece)];
        },
        rank: (x, y) => {
            const column = y % pieces * piece + x % piece, row = Math.floor(x / piece) * rows + Math.floor(y / pieces);
            return x < 0 || y < 0 || x >= piece * beside || y >= rows * pieces || column >= wide || row * wide + column >= n ? -1 : row * wide + column;
        },
    };
}

/* In pixels of the canvas; a gap stands behind each `per` tiles, and before each row of a block the rank of its first tile. */
const offset = (at, size, per, gap) => at * size + Math.floor(at / per) * gap;
const placeOf = rank => {
    const [x, y] = grid.of(rank);
    return [canvas.gutter + offset(x, canvas.wide, grid.perX, canvas.gapX), offset(y, canvas.tile, grid.perY, canvas.gap)];
};

function inkOn(colour) {
    const n = parseInt(colour.slice(1), 16), part = bits => ((n >> bits & 255) / 255) ** 2.2, light = 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0);
    return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? "#000000" : "#ffffff"; // black or white, by what is the stronger contrast
}

/* As "#rrggbb", also of the colours of a system with few of them. */
function readColours() {
    const style = getComputedStyle(document.documentElement), pen = document.createElement("canvas").getContext("2d");
    const colour = name => {
        pen.fillStyle = style.getPropertyValue("--" + name).trim();
        return pen.fillStyle;
    };
    colours = { ground: colour("ground"), text: colour("text"), quiet: colour("quiet"), focus: colour("focus") };
    for (const letter in MARKS)
        colours[letter] = colour(MARKS[letter][1]);
    canvas.dataset.of = ""; // its ranks have a colour, too
}

/* A tile of this letter and layers, drawn once and copied from then on: its pixels. */
function stamp(letter, hidden, drift) {
    const picture = document.createElement("canvas"), { wide, tile } = canvas, edge = tile > 6 ? 1 : 0;
    picture.width = wide;
    picture.height = tile;
    const pen = picture.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, wide, tile);
    pen.globalAlpha = hidden ? 0.15 : 1;
    if (tile < LETTER_PIXELS * canvas.ratio)
        drawForm(pen, letter, tile - edge);
    else
        drawLetter(pen, letter, wide - edge, tile - edge);
    if (drift)
        drawDrift(pen, wide - edge, tile * (0.2 + 0.1 * drift));
    return new Uint32Array(pen.getImageData(0, 0, wide, tile).data.buffer);
}

/* Where a letter has no room, the form tells what the colour does: a cause fills its tile and is outlined, who fell because
 * of others is half of one, cut by the diagonal, and who is well is a small square; who did nothing, a dot. */
function drawForm(pen, letter, side) {
    const [, colour, badness] = MARKS[letter] ?? MARKS["."], idle = colour === "come", inset = badness ? 0 : Math.floor(side * (idle ? 0.4 : 0.25));
    pen.fillStyle = idle ? colours.quiet : colours[letter];
    if (badness === 1) {
        pen.beginPath();
        pen.moveTo(0, 0);
        pen.lineTo(0, side);
        pen.lineTo(side, side);
        pen.fill();
        pen.strokeStyle = colours.text;
        pen.lineWidth = Math.max(1, side / 8);
        pen.stroke();
    } else
        pen.fillRect(inset, inset, side - 2 * inset, side - 2 * inset);
    if (badness === 2)
        outline(pen, side, side);
}

/* A cascade is pale. */
const inkOf = letter => letter === "c" ? colours.text : inkOn(colours[letter] ?? colours["."]);

function drawLetter(pen, letter, wide, tall) {
    const alpha = pen.globalAlpha;
    pen.globalAlpha = letter === "c" ? alpha * 0.4 : alpha;
    pen.fillStyle = colours[letter] ?? colours["."];
    pen.fillRect(0, 0, wide, tall);
    pen.globalAlpha = alpha;
    if (letter === ".")
        return;
    pen.fillStyle = inkOf(letter);
    pen.font = `700 ${Math.floor(tall * 0.68)}px ui-monospace, monospace`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(letter, Math.min(wide, tall) / 2, tall / 2 + 1);
    if (isBad(letter, 2))
        outline(pen, wide, tall);
}

function outline(pen, wide, tall) {
    pen.strokeStyle = colours.text;
    pen.lineWidth = Math.max(1, tall / 10);
    pen.strokeRect(pen.lineWidth / 2, pen.lineWidth / 2, wide - pen.lineWidth, tall - pen.lineWidth);
}

/* A corner: the larger the worse. */
function drawDrift(pen, right, side) {
    pen.fillStyle = colours.text;
    pen.beginPath();
    pen.moveTo(right, 0);
    pen.lineTo(right - side, 0);
    pen.lineTo(right, side);
    pen.fill();
}

/* Of so few hosts each tile has its name. */
const isNamed = () => run.names.length <= NAMED_HOSTS;
const NAME_FONT = tall => `${Math.floor(tall * 0.5)}px ui-monospace, monospace`;

function drawNames(pen, letters) {
    pen.font = NAME_FONT(canvas.tile);
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    run.names.forEach((name, rank) => {
        const [x, y] = placeOf(rank);
        pen.fillStyle = inkOf(letters[rank]);
        pen.globalAlpha = shown[rank] ? 1 : 0.4;
        pen.fillText(visible(name), x + canvas.tile, y + canvas.tile / 2 + 1, canvas.wide - canvas.tile * 1.2);
    });
    pen.globalAlpha = 1;
}

/* How wide ranks are, in pixels of CSS. */
const gutterWide = () => isNamed() ? 0 : 8 + 7 * String(run.names.length - 1).length;

/* In pixels of CSS: as large as all of them have room for, and never so small that nobody could tell or hit one: what has no room then goes on below. */
function chooseGrid() {
    const n = run.names.length, half = (byId("tiles-part").parentElement.clientWidth - 84) / 2, pen = canvas.getContext("2d");
    if (isNamed()) {
        pen.font = NAME_FONT(28);
        const named = Math.ceil(Math.max(...run.names.map(name => pen.measureText(visible(name)).width))) + 36;
        const wide = Math.min(map.clientWidth, Math.max(64, Math.min(220, named)));
        grid = fold(n, columns(), Math.max(1, Math.floor(map.clientWidth / wide)));
        return [wide, 28];
    }
    const least = narrow.matches ? TILE_MIN_PHONE : TILE_MIN, between = () => (GAP + gutterWide()) * Math.ceil(grid.columns / grid.perX);
    grid = fold(n, columns(), Infinity);
    byId("tiles-part").parentElement.classList.toggle("wide", grid.columns * LETTER_PIXELS > half);
    for (let most = Math.min(grid.columns, Math.floor(map.clientWidth / least)); most > 0 && grid.columns * least + between() > map.clientWidth; most--)
        grid = fold(n, columns(), most);
    const room = Math.min((map.clientWidth - between()) / grid.columns, innerHeight * 0.6 / grid.lines);
    const size = Math.max(least, Math.min(TILE_MAX, Math.floor(room)));
    return [size, size];
}

function sizeCanvas() {
    const of = [run.id, run.names.length, columns(), map.clientWidth, innerHeight, devicePixelRatio].join(" ");
    if (canvas.dataset.of === of)
        return;
    canvas.dataset.of = of;
    const [wide, tall] = chooseGrid(), gap = grid.perX < grid.columns || grid.perY < grid.lines ? GAP : 0, gutter = gutterWide();
    const gapsX = Math.ceil(grid.columns / grid.perX) - 1, gapsY = Math.ceil(grid.lines / grid.perY) - 1;
    const area = (gutter + grid.columns * wide + gapsX * (gap + gutter)) * (grid.lines * tall + gapsY * gap);
    const ratio = canvas.ratio = Math.min(devicePixelRatio || 1, Math.sqrt(CANVAS_PIXELS / area));
    Object.assign(canvas, { wide: Math.round(wide * ratio), tile: Math.round(tall * ratio), gap: Math.round(gap * ratio), gutter: Math.round(gutter * ratio), gapX: Math.round((gap + gutter) * ratio) });
    canvas.width = canvas.gutter + grid.columns * canvas.wide + gapsX * canvas.gapX;
    canvas.height = grid.lines * canvas.tile + gapsY * canvas.gap;
    canvas.style.setProperty("width", canvas.width / ratio + "px");
    canvas.style.setProperty("height", canvas.height / ratio + "px");
    canvas.image = drawRanks();
    canvas.pixels = new Uint32Array(canvas.image.data.buffer);
    stamps = {};
    painted = [];
}

/* What stands below the tiles, drawn once: the rank of the first tile of each row, in each block of columns. */
function drawRanks() {
    const { width, height, gutter, ratio, tile } = canvas, under = Object.assign(document.createElement("canvas"), { width, height });
    if (!gutter)
        return new ImageData(width, height);
    const pen = under.getContext("2d", { willReadFrequently: true });
    Object.assign(pen, { font: `${11 * ratio}px ui-monospace, monospace`, fillStyle: colours.quiet, textAlign: "right", textBaseline: "middle" });
    for (let y = 0; y < grid.lines; y++)
        for (let x = 0; x < grid.columns; x += grid.perX) {
            const rank = grid.rank(x, y), [left, top] = placeOf(Math.max(0, rank));
            if (rank >= 0)
                pen.fillText(rank, left - 4 * ratio, top + tile / 2 + 1);
        }
    return pen.getImageData(0, 0, width, height);
}

function drawTile(letters, rank) {
    const letter = letters[rank] ?? ".", hidden = shown[rank] ? 0 : 1, drift = view.drift ? driftOf[rank] ?? 0 : 0;
    const key = letter.charCodeAt(0) + hidden * 256 + drift * 512;
    if (painted[rank] === key)
        return;
    painted[rank] = key;
    const [x, y] = placeOf(rank);
    const from = stamps[key] ??= stamp(letter, hidden, drift), to = canvas.pixels, { wide, width } = canvas;
    for (let at = y * width + x, i = 0; i < from.length; at += width - wide)
        for (const end = i + wide; i < end; i++, at++)
            to[at] = from[i];
}

/* Who is opened, marked, or under the cursor: a ring, and one of the ground within it, so that it is seen on any colour. */
function drawRing(pen, rank, colour) {
    const line = Math.max(2, canvas.tile / 12), [x, y] = placeOf(rank);
    pen.lineWidth = line;
    [colour, colours.ground].forEach((one, i) => {
        pen.strokeStyle = one;
        pen.strokeRect(x + line * (i + 0.5), y + line * (i + 0.5), canvas.wide - line * (2 * i + 1), canvas.tile - line * (2 * i + 1));
    });
}

function drawTiles() {
    const letters = lettersShown(), pen = canvas.getContext("2d");
    sizeCanvas();
    for (let rank = 0; rank < run.names.length; rank++)
        drawTile(letters, rank);
    pen.putImageData(canvas.image, 0, 0);
    if (isNamed())
        drawNames(pen, letters);
    for (const rank of [...view.marked, view.opened].filter(known))
        drawRing(pen, rank, colours.text);
    drawRing(pen, view.cursor, colours.focus);
    setText(byId("cursor"), describe(view.cursor));
    drawLegend(letters);
}

function drawLegend(letters) {
    const counts = countLetters(letters);
    const text = JSON.stringify(counts);
    if (byId("legend").dataset.of === text)
        return;
    byId("legend").dataset.of = text;
    byId("next-failure").hidden = !Object.keys(counts).some(letter => isBad(letter, 0.5));
    fill(byId("legend"), Object.keys(MARKS).filter(letter => counts[letter])
        .map(letter => el("span", null, marked(letter), " ", number(counts[letter]))));
}

/* One host in one line. */
function describe(rank) {
    if (rank < 0 || rank >= run.names.length)
        return "";
    const phase = phaseOf(rank), group = groupOf(rank), letter = lettersShown()[rank] ?? ".";
    const where = view.layer < 0 ? "" : ` at ${atRung(view.layer)}`;
    return `${run.names[rank]}: ${MARKS[letter]?.[0] ?? letter}${where}${phase && view.layer < 0 ? ", " + phase : ""}` +
        (group ? `; ${group.outcome} at ${atRung(group.rung, group.pass)}: ${group.line || group.cause}`.slice(0, 240) : "") +
        (view.drift && driftOf[rank] ? "; differs from other hosts" : "") + (shown[rank] ? "" : " (hidden by the filter)");
}

function moveCursor(rank) {
    view.pointed = true;
    view.cursor = Math.max(0, Math.min(run.names.length - 1, rank));
    const [x, y] = placeOf(view.cursor).map(at => at / canvas.ratio), outside = (at, from, long) => at < from || at + TILE_MIN > from + long;
    if (outside(x, map.scrollLeft, map.clientWidth) || outside(y, map.scrollTop, map.clientHeight))
        map.scrollTo(x - map.clientWidth / 2, y - map.clientHeight / 2);
    draw("tiles");
}

/* Who failed by itself, in the order of the causes, then who hangs, then who is silent; where none did, who fell with others, or is worth a look. */
function failures() {
    const letters = lettersShown(), causes = causesInOrder(), places = new Map(causes.map((group, i) => [group, i]));
    const place = rank => letters[rank] === "?" ? causes.length + 2 : letters[rank] === "h" ? causes.length + 1 : places.get(groupOf(rank)) ?? causes.length;
    const worst = [2, 1, 0.5].map(least => run.names.map((_, rank) => rank).filter(rank => shown[rank] && isBad(letters[rank], least))).find(ranks => ranks.length) ?? [];
    return worst.map(rank => [place(rank), rank]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, rank]) => rank);
}

/* The first, or the one after that under the cursor. Enter opens it then. */
function nextFailure() {
    const ranks = failures(), at = view.pointed ? ranks.indexOf(view.cursor) : -1;
    canvas.focus({ preventScroll: true });
    map.scrollIntoView({ block: "nearest" });
    if (ranks.length)
        moveCursor(ranks[(at + 1) % ranks.length]);
}

function rankAt(event) {
    const box = canvas.getBoundingClientRect(), cell = (pixels, size, per, gap) => {
        const whole = per * size + gap, part = Math.floor(pixels * canvas.ratio / whole);
        return part * per + Math.min(per - 1, Math.floor((pixels * canvas.ratio - part * whole) / size));
    };
    return grid.rank(cell(event.clientX - box.left - canvas.gutter / canvas.ratio, canvas.wide, grid.perX, canvas.gapX), cell(event.clientY - box.top, canvas.tile, grid.perY, canvas.gap));
}

/* ---- the run in words and tables ---- */

const badOnes = () => Object.keys(MARKS).filter(letter => isBad(letter, 1))
    .map(letter => [run.stands.split(letter).length - 1, MARKS[letter][0]]).filter(([n]) => n).map(([n, word]) => `${number(n)} ${word}`);

/* Changes when something happened, and not with each host that ends: it is read out. */
function sentenceSoFar() {
    const index = run.rungs.findIndex(rung => rung.running), rung = run.rungs[index];
    return [rung ? `rung ${rung.id} (${index + 1} of ${run.rungs.length}) runs on ${plural(rung.hosts, "host")}` : "between rungs", ...badOnes()].join(", ");
}

/* Where the run stopped, and on how many hosts: of what the causes tell nothing is told twice. */
function sentenceShown() {
    const { slice, sentence } = run.summary, start = `slice ${slice}: `, rest = sentence.startsWith(start) ? sentence.slice(start.length) : sentence;
    const [where] = rest.match(/^stopped at rung .*? \(\d+ of \d+\)(?=: )/) ?? [], bad = badOnes();
    return !sentence ? sentenceSoFar() : where && bad.length ? `${where}: ${bad.join(", ")} of ${plural(run.names.length, "host")}` : rest;
}

function stateLetter({ state, outcome, cancelling }) {
    return state === "ended" ? OUTCOME_LETTERS[outcome] ?? "." : cancelling ? "X" : state === "running" ? "r" : "?";
}

function drawSummary() {
    const s = run.summary;
    if (!s)
        return;
    const hidden = shown.length - shown.reduce((sum, one) => sum + one, 0), ranMs = run.nowMs + (s.away_ms ?? 0);
    const ended = clock(s.opened_wall_ms + ranMs), endedAt = ended.slice(0, 10) === clock(s.opened_wall_ms).slice(0, 10) ? ended.slice(11) : ended;
    document.title = visible(`${s.slice}: ${s.outcome ?? s.state} - sliceup`);
    setText(byId("slice"), s.slice);
    setText(byId("about"), [`run ${(run.id || "").slice(0, 8)}`, clock(s.opened_wall_ms), s.ladder && `ladder ${s.ladder}`, s.mesh && `mesh ${s.mesh}`, s.version && `sliceup ${s.version}`].filter(Boolean).join(" · "));
    setText(byId("state"), s.state === "ended" ? s.outcome ?? "ended" : s.cancelling ? "cancelling" : s.state);
    paint(byId("state"), stateLetter(s));
    setText(byId("sentence"), sentenceShown());
    byId("sentence").title = visible(s.sentence);
    setText(byId("counts"), [plural(s.hosts, "host"), `${number(s.joined)} joined`, s.silent && `${number(s.silent)} silent`,
        s.lost && `${number(s.lost)} lost`, s.state === "running" && `for ${duration(ranMs)}`, s.state === "ended" && run.nowMs && `took ${duration(ranMs)}${s.opened_wall_ms ? `, ended ${endedAt}` : ""}`,
        s.usual_ms && s.state === "running" && `this pass: about ${duration(s.left_ms)} left (of ${plural(s.usual_runs, "earlier run")})`,
        s.generation && `cache generation ${s.generation}: ${plural(s.entries, "program")}, ${bytes(s.bytes)}${s.adopted ? ", adopted" : ""}`]
        .filter(Boolean).join(" · "));
    setText(byId("hidden"), view.wrong || !view.filter ? view.wrong : `${number(hidden)} of ${number(shown.length)} hidden`);
    byId("files-part").hidden = byId("steps-part").hidden = Boolean(embedded) || s.state !== "ended";
    byId("stacks-button").hidden = Boolean(embedded) || s.state !== "running";
    byId("stacks-part").hidden ||= byId("stacks-button").hidden;
    const waits = s.state === "running" ? waitingItems(s.waiting) : s.state === "ended" ? slowItems().filter(Boolean) : [];
    byId("waiting-part").hidden = !waits.length;
    fill(byId("waiting"), waits);
}

/* The letter of a sentence about hosts in trouble, and their set: the one in front of it, or all with that letter where it is a number of hosts. */
function troubleOf(line) {
    const letter = TROUBLES.find(([form]) => form.test(line))?.[1], all = letter === "?" ? "" : run.summary.troubles?.[letter];
    return letter && all !== undefined ? { letter, hosts: line.match(/^(?:suspect: )?(\S+) (?!hosts? \()/)?.[1] ?? all } : null;
}

/* Those in trouble first, each with its letter and a way to its hosts. */
function waitingItems(lines) {
    const found = lines.map(line => [line, troubleOf(line)]);
    return [...found.filter(([, trouble]) => trouble), ...found.filter(([, trouble]) => !trouble)].map(([line, trouble], i) => {
        const filter = trouble?.hosts ? `hosts:${trouble.hosts}` : "outcome:silent";
        return el("li", { class: trouble ? null : "quiet" }, trouble ? [markOf(trouble.letter), " "] : "", said(line), trouble ?
            [" ", button("show", () => setFilter(filter), { class: "plain", "aria-label": `show ${filter}`, "data-key": "waits" + i })] : "");
    });
}

const countsOf = counts => Object.keys(MARKS).filter(letter => counts[letter]).map(letter => [markOf(letter), ` ${number(counts[letter])} `]);

function rungStep(rung, index) {
    const frontier = index === run.summary.frontier, letter = OUTCOME_LETTERS[rung.outcome] ?? (rung.running ? "r" : ".");
    const state = rung.running ? `${rung.pass && rung.pass !== "once" ? rung.pass + " pass " : ""}runs: ${number(rung.ended)} of ${number(rung.hosts)} ended` : rung.outcome ?? "to come";
    const absent = rung.outcome === "passed" ? (rung.counts[OUTCOME_LETTERS.blocked] ?? 0) + (rung.counts[OUTCOME_LETTERS.lost] ?? 0) : 0;
    const spent = known(rung.spent_ms) ? rung.spent_ms + (rung.running ? run.nowMs - rung.saidMs : 0) : null;
    const time = duration(spent) + (rung.running && rung.limit_ms ? ` of ${duration(rung.limit_ms)}` : "");
    return el("li", { class: [frontier && "frontier", view.layer === index && "chosen"].filter(Boolean).join(" ") },
        markOf(letter), " ", button(rung.id, () => setLayer(index), { class: "plain", "data-key": "rung" + index, "aria-pressed": String(view.layer === index) }), " ",
        frontier ? el("span", { class: "here" }, "frontier ") : null, el("span", { class: "outcome" }, state, absent ? `, without ${plural(absent, "host")}` : "", rung.attempt > 1 ? ` (attempt ${rung.attempt})` : ""), " ",
        el("span", { class: "time" }, time), Object.keys(rung.counts).length > 1 ? el("div", null, countsOf(rung.counts)) : null);
}

function drawLadder() {
    if (!run.summary)
        return;
    setText(byId("passed"), `${number(run.summary.frontier)} of ${plural(run.rungs.length, "rung")} passed, from the first`);
    fill(byId("ladder"), run.rungs.map(rungStep));
    const options = [el("option", { value: -1 }, run.summary.state === "ended" ? "the end" : "now"), ...run.rungs.map((rung, i) => el("option", { value: i }, rung.id))];
    if (byId("layer").options.length !== options.length || byId("layer").options[0].text !== options[0].text)
        fill(byId("layer"), options);
    byId("layer").value = view.layer;
}

function setLayer(index) {
    view.layer = view.layer === index ? -1 : index;
    choose();
    draw("tiles", "ladder", "table", "summary");
}

/* The error as it was printed, then what we make of it. */
function groupArticle(group, index) {
    const cascade = group.outcome === "cascade", cause = run.groups[group.cause_group];
    const owner = group.owner ? `whose: ${OWNERS[group.owner] ?? group.owner}${group.else_owner ? `, else ${OWNERS[group.else_owner]}` : ""}${group.certainty === "likely" ? ", likely" : ""}` : "";
    return el("article", { id: "group-" + index, tabindex: -1, class: cascade ? "cascade" : null, "data-key": "article" + index },
        el("h3", null, markOf(OUTCOME_LETTERS[group.outcome] ?? "f"), ` ${group.outcome ?? "failed"} at ${atRung(group.rung, group.pass)}`,
            group.preliminary ? ", so far" : "", " · ", said(group.names ?? ""), group.count > 1 ? ` (${plural(group.count, "host")})` : ""),
        causeParts(group),
        group.cause_host ? el("p", null, "It followed ", said(group.cause_host), cause ? [", which ", el("a", { href: "#group-" + group.cause_group, "data-key": "cause" + index,
            onclick: event => goTo(event, "group-" + group.cause_group) }, `ended as ${cause.outcome} at ${atRung(cause.rung, cause.pass)}`)] : "", ".") : null,
        el("p", { class: "quiet" }, [owner, group.signature && `known as ${group.signature}`, group.phase && `in ${group.phase}`].filter(Boolean).join(" · "), " ",
            button(group.count > 1 ? "open the first host" : "open the host", () => openHost(group.first), { class: "plain", "data-key": "open" + index }), " ",
            button(group.count > 1 ? "show only these" : "show only this host", () => setFilter(group.names?.endsWith("…") === false ? `hosts:${group.names}` : `group:${index}`), { class: "plain", "data-key": "show" + index })));
}

/* Like a link, but the fragment of the address keeps the token and the run. */
function goTo(event, id) {
    event.preventDefault();
    const place = byId(id), { top } = place.getBoundingClientRect();
    place.focus({ preventScroll: true });
    if (top < 0 || top > innerHeight * 0.6)
        scrollBy(0, top - innerHeight * (top < 0 ? 0 : 0.45)); // what led there stays in view above it
}

/* What somebody can act on first, of these who failed before who timed out or was lost; what only followed last. */
const WORST = ["failed", "blocked", "timed-out", "lost", "cancelled"];
function causesInOrder() {
    const later = group => group.outcome === "cascade" ? 2 : !group.owner || group.owner === "unknown" ? 1 : 0, place = ({ outcome }) => WORST.indexOf(outcome ?? "failed") + 1 || WORST.length + 1;
    return [...run.groups].sort((a, b) => later(a) - later(b) || place(a) - place(b) || a.index - b.index);
}

/* Only where all held: not before the end, and neither with a cache that was violated nor with a metric that is not proved. */
function nothingFailed() {
    const { state, outcome, exit_status: status, sentence, violations } = run.summary ?? {};
    if (state === "ended")
        return outcome === "passed" && !status && run.metrics.every(metric => metric.proof === "proved") ? "Nothing failed." : sentence;
    return violations ? "The cache was violated." : state === "running" ? "Nothing failed so far." : state ? "Nothing had failed when it was interrupted." : "";
}

function drawGroups() {
    const order = causesInOrder();
    fill(byId("groups"), order.map(group => groupArticle(group, group.index)), run.leftOut ? el("p", null, `${plural(run.leftOut, "more group")}: see the receipt`) : "",
        run.ungrouped ? el("p", null, `${plural(run.ungrouped, "host")} failed with other errors than these: see the receipt`) : "",
        order.length || run.ungrouped ? "" : el("p", null, nothingFailed()));
}

function drawMetrics() {
    byId("metrics-part").hidden = !run.metrics.length;
    fill(byId("metrics"), table("what was measured, and what is proved of it", ["metric", "at", "value", "proof", "why"], run.metrics.map(metric => [
        said(metric.name), atRung(metric.rung, metric.pass), metric.value === null ? "no number" : String(metric.value),
        [metric.proof ?? "not proved", metric.axes ? ` over ${metric.axes}` : ""],
        [said(metric.why), metric.culprits ? [" on ", said(metric.culprits)] : ""]])));
}

function drawGates() {
    byId("gates-part").hidden = !run.gates.length;
    fill(byId("gates"), table("who waited least came last", ["gate", "at", "came last", "the others waited: half of them", "the longest"], run.gates.filter(gate => !view.range || isWithin(view.range, gate.opened_ms, gate.opened_ms)).map(gate => [
        said(gate.gate), atRung(gate.rung, gate.pass), said(gate.last ?? "unknown"), duration(gate.median_wait_ms), duration(gate.longest_wait_ms)])));
}

function drawNotes() {
    setText(byId("skipped"), run.skipped ? `${plural(run.skipped, "note")} skipped` : "");
    fill(byId("notes"), run.notes.filter(([, at]) => !view.range || isWithin(view.range, at, at)).reverse().map(([, at, text]) => el("li", null, el("time", null, duration(at)), said(cutAtWord(text, NOTE_BYTES)))));
}

function drawTable() {
    if (!byId("table-part").open)
        return;
    const letters = lettersShown(), badness = rank => MARKS[letters[rank]]?.[2] ?? 0;
    const ranks = run.names.map((name, rank) => rank).filter(rank => shown[rank]).sort((a, b) => badness(b) - badness(a) || a - b);
    const rows = ranks.slice(0, TABLE_ROWS).map(rank => {
        const letter = letters[rank] ?? ".", group = groupOf(rank);
        return [button(run.names[rank], () => openHost(rank), { class: "plain", "data-key": "host" + rank }), marked(letter),
                said(phaseOf(rank)), group ? [`${group.outcome} at ${atRung(group.rung, group.pass)}: `, said(group.line || group.cause)] : ""];
    });
    fill(byId("table"), table(ranks.length > TABLE_ROWS ? `the worst ${TABLE_ROWS} of ${number(ranks.length)}; the filter finds others` : `${plural(ranks.length, "host")}, the worst first`,
        ["host", "stands", "phase", "cause"], rows));
}

/* ---- one host ---- */

function openHost(rank) {
    if (rank < 0 || rank >= run.names.length)
        return;
    view.opened = rank;
    log = null;
    byId("host-part").hidden = false;
    moveCursor(rank);
    byId("host").dataset.of = "";
    fill(byId("host"), "…");
    byId("log-part").hidden = true;
    setText(byId("host-title"), run.names[rank]);
    keepAddress();
    draw("tiles", "numbers");
    readHost(run.names[rank]).then(() => goTo(new Event("open"), "host-part"));
}

/* A report holds whole hosts only of those that stand out; of the others how each attempt ended, and how long it took. */
function attemptsOfPass({ rung, pass, attempt, purpose, began_ms, marks, ms, ended_ms }) {
    let at = 0, unknown = 0;
    return [...marks].flatMap((mark, rank) => {
        if (mark === ".")
            return [];
        const spent = ms[at++];
        return [{ rank, rung, pass, attempt, purpose, mark, began_ms, ms: spent, spans: [], group: null,
                  ended_ms: spent === null ? ended_ms[unknown++] : began_ms + spent }];
    });
}

function hostOfReport(name) {
    const rank = run.names.indexOf(name);
    const attempts = (embedded.passes ?? []).flatMap(attemptsOfPass).filter(attempt => attempt.rank === rank);
    attempts.sort((a, b) => a.began_ms - b.began_ms);
    return { host: name, rank, life: "short, from the report: its phases and facts are in the run's journal", why: "", attempts, facts: {} };
}

async function readHost(name) {
    readAt = performance.now();
    if (embedded)
        hosts[name] ??= hostOfReport(name);
    else
        hosts[name] = await ask("host", { host: name }).catch(error => hosts[name] ?? { error: String(error.message ?? error) });
    draw("host", "pair");
}

/* Of the attempts what is in the range that the filter names. */
function attemptsShown(host) {
    const attempts = host.attempts ?? [], { range } = view;
    const cut = span => {
        const began_ms = Math.max(span.began_ms, range.from);
        return { ...span, began_ms, ms: Math.min(span.began_ms + span.ms, range.until || Infinity) - began_ms };
    };
    return !range ? [...attempts] : attempts.filter(attempt => isThere(range, attempt))
        .map(attempt => ({ ...attempt, spans: attempt.spans.filter(span => isWithin(range, span.began_ms, span.began_ms + span.ms)).map(cut) }));
}

/* Where a time of the run stands on a timeline, of 1000; the timeline is the range that the filter names. */
function scale(attempts) {
    const began = view.range?.from ?? Math.min(...attempts.map(attempt => attempt.began_ms));
    const ended = view.range?.until || Math.max(...attempts.map(attempt => attempt.began_ms + (attempt.ms ?? 0)));
    return ms => Math.max(0, Math.min(1000, (ms - began) / Math.max(1, ended - began) * 1000));
}

function hatch(id) {
    return svg("defs", null, svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("rect", { class: "under", width: 6, height: 6 }), svg("line", { class: "wait", x1: 0, y1: 0, x2: 0, y2: 6 })));
}

const spanWords = span => `${span.name} ${duration(span.ms)}${span.awaited ? `, waits for ${span.awaited}` : ""}`;

function timeline(attempt, at, colourOf, id) {
    const x = ms => at(ms).toFixed(2), width = ({ began_ms, ms }) => Math.max(1, at(began_ms + ms) - at(began_ms)).toFixed(2);
    return svg("svg", { class: "time", viewBox: "0 0 1000 24", preserveAspectRatio: "none", role: "img", "aria-label": attempt.spans.map(spanWords).join("; ") || "no phases" },
        hatch(id), svg("line", { class: "axis", x1: 0, y1: 23, x2: 1000, y2: 23 }),
        svg("rect", { class: "under", x: x(attempt.began_ms), y: 3, width: width(attempt), height: 18 }),
        attempt.spans.map(span => svg("rect", { class: span.gate ? "gate" : "s" + colourOf(span.name), fill: span.gate ? `url(#${id})` : null,
            x: x(span.began_ms), y: 3, width: width(span), height: 18 }, svg("title", null, spanWords(span)))),
        svg("rect", { class: "edge", x: x(attempt.began_ms), y: 3, width: width(attempt), height: 18 }));
}

function attemptRow(attempt, i, at, colourOf) {
    const purpose = attempt.purpose && attempt.purpose !== "climb" ? `, ${attempt.purpose}` : "";
    const words = attempt.spans.filter(span => span.ms).map(span => [el("span", { class: span.gate ? "key gate" : "key s" + colourOf(span.name) }), said(spanWords(span)), " · "]).flat().slice(0, -1);
    return [[atRung(attempt.rung, attempt.pass), attempt.attempt > 1 || purpose ? ` #${attempt.attempt}${purpose}` : ""], marked(attempt.mark),
            duration(attempt.ms), [timeline(attempt, at, colourOf, "hatch" + i), words]];
}

function factRows(facts) {
    return Object.keys(facts).sort().map(name => [said(name), said(facts[name])]);
}

/* What is the matter with it, then why, and what now. */
function matterOf(rank) {
    const name = run.names[rank], letter = run.stands[rank] ?? ".", group = groupOf(rank), phase = phaseOf(rank), waits = run.summary?.state === "running" ? run.summary.waiting : [];
    const line = waits.find(one => hostSet(troubleOf(one)?.hosts ?? "")(name));
    const slow = run.summary?.state === "ended" ? slowOnes().filter(one => one.rank === rank) : [];
    return { letter, at: group ? atRung(group.rung, group.pass) : "", line: line ?? (group || !phase || run.summary?.state !== "running" ? "" : `in ${phase}`), slow: slow.map(slowWords), group };
}

function matterParts({ letter, at, line, slow, group }) {
    return [el("p", { class: "matter" }, el("strong", null, marked(letter), at && ` at ${at}`), line ? [": ", said(line)] : ""),
            slow.map(words => el("p", null, markOf("s"), " was slow: ", said(words))), group ? causeParts(group) : ""];
}

const causeParts = group => [group.line ? el("pre", null, group.line) : null, group.cause ? el("p", null, group.cause) : null,
                             group.next ? el("p", null, el("strong", null, "Next:"), " ", group.next) : null];

function hostParts(host, matter) {
    if (host.error)
        return [el("p", null, host.error)];
    const phases = [], attempts = attemptsShown(host).sort((a, b) => (a.mark === "P") - (b.mark === "P")); // what failed is not looked for below what passed
    const colourOf = name => (phases.includes(name) ? phases.indexOf(name) : phases.push(name) - 1) % 6;
    const at = attempts.length ? scale(attempts) : null;
    return [matterParts(matter), el("p", { class: "quiet" }, host.life, host.why ? [": ", said(host.why)] : "", " · ", button(view.marked.includes(host.rank) ? "not marked any more" : "mark, to compare (m)",
        () => toggleMark(host.rank), { "data-key": "mark" }), " ", button("close", closeHost, { "data-key": "close" })),
        host.attempts_left_out ? el("p", null, `${plural(host.attempts_left_out, "earlier attempt")} not shown: see the receipt`) : null,
        table(`what it did${view.range ? " in the time that the filter names" : ""}; hatched: it waited for other hosts`, ["at", "outcome", "time", "phases"], attempts.map((attempt, i) => attemptRow(attempt, i, at, colourOf))),
        Object.keys(host.facts ?? {}).length ? el("details", null, el("summary", { "data-key": "facts" }, plural(Object.keys(host.facts).length, "fact")),
            table("", ["fact", "value"], factRows(host.facts))) : null];
}

function drawHost() {
    const host = hosts[run.names[view.opened]];
    if (view.opened === null || !host)
        return;
    const matter = matterOf(view.opened), of = JSON.stringify([host, matter, view.marked, view.range]);
    if (byId("host").dataset.of === of)
        return;
    const wasOpen = byId("host").querySelector("details")?.open;
    byId("host").dataset.of = of;
    fill(byId("host"), hostParts(host, matter));
    if (wasOpen)
        byId("host").querySelector("details").open = true;
    offerLogs(host);
}

function closeHost() {
    view.opened = log = null;
    byId("host-part").hidden = true;
    keepAddress();
    draw("tiles", "numbers");
    canvas.focus();
}

/* ---- what it printed ---- */

const attemptName = attempt => atRung(attempt.rung, attempt.pass) + (known(attempt.attempt) ? ` #${attempt.attempt}` : "");
const logName = attempt => [run.rungs[attempt.rung]?.id, attempt.pass, attempt.attempt].join(" ");

function offerLogs(host) {
    const attempts = embedded ? [] : (host.attempts ?? []).filter(attempt => known(attempt.attempt));
    byId("log-part").hidden = !attempts.length;
    const names = attempts.map(logName), chooser = byId("log-of");
    if ([...chooser.options].map(option => option.value).join("|") !== names.join("|")) {
        const newest = chooser.selectedIndex < 0 || chooser.selectedIndex === chooser.options.length - 1;
        const kept = newest ? names[names.length - 1] : chooser.value;
        fill(chooser, attempts.map(attempt => el("option", { value: logName(attempt) }, attemptName(attempt))));
        chooser.value = names.includes(kept) ? kept : names[names.length - 1] ?? "";
    }
    if (attempts.length && (!log || log.host !== host.host || log.name !== chooser.value))
        beginLog(host, attempts[chooser.selectedIndex]);
    readLog();
}

function beginLog(host, attempt) {
    log = { host: host.host, name: logName(attempt), rung: run.rungs[attempt.rung].id, pass: attempt.pass, attempt: attempt.attempt,
            from: null, bytes: 0, reading: false, decoder: new TextDecoder() };
    byId("log").replaceChildren();
    setText(byId("log-note"), "");
}

/* Reads on until there is nothing new; keeps the newest LOG_BYTES. */
async function readLog() {
    const mine = log;
    if (!mine || mine.reading)
        return;
    mine.reading = true;
    try {
        for (let more = true; more && mine === log;) {
            const answer = await fetchApi("log", { host: mine.host, rung: mine.rung, pass: mine.pass, attempt: mine.attempt,
                                                     ...(mine.from === null ? {} : { from: mine.from }) }); // at first its end
            const bytes = await answer.arrayBuffer(), next = Number(answer.headers.get("X-Sliceup-Next") ?? mine.from + bytes.byteLength);
            more = mine.from !== null && next > mine.from && bytes.byteLength >= LOG_PIECE_BYTES / 2;
            mine.from = Math.max(mine.from, next);
            if (mine === log && bytes.byteLength)
                showLog(bytes);
        }
    } catch (error) {
        if (error.name !== "AbortError" && mine === log)
            setText(byId("log-note"), String(error.message ?? error));
    }
    mine.reading = false;
}

function showLog(bytes) {
    const pane = byId("log");
    pane.append(visible(log.decoder.decode(bytes, { stream: true })));
    for (log.bytes += bytes.byteLength; log.bytes > LOG_BYTES && pane.childNodes.length > 1; log.bytes -= log.sizes.shift())
        pane.firstChild.remove();
    (log.sizes ??= []).push(bytes.byteLength);
    setText(byId("log-note"), log.from > log.bytes ? `the last ${number(log.bytes)} of ${number(log.from)} bytes; sliceup logs has all` : "");
    if (byId("log-follow").checked)
        pane.scrollTop = pane.scrollHeight;
}

/* ---- where the programs stand ---- */

/* As the coordinator last heard of them: the page asks no worker. */
async function readStacks() {
    byId("stacks-part").hidden = false;
    byId("stacks-part").focus();
    try {
        const { groups, groups_left_out: left, sentence } = await ask("stacks", {});
        fill(byId("stacks"), sentence ? el("p", null, said(sentence)) : null,
            groups.map(group => el("details", null, el("summary", null, said(group.hosts), group.count > 1 ? ` (${plural(group.count, "host")})` : "", group.where ? [": ", said(group.where)] : ""),
                el("pre", null, [...group.frames, ...group.waits].join("\n")), el("p", { class: "quiet" }, `looked at ${duration(group.looked_ms)} ago`))),
            left ? el("p", null, `${plural(left, "other place")}: sliceup stacks has all`) : null,
            el("p", { class: "quiet" }, groups.length ? "" : "Nothing is known of a program that runs now. ", "A slice-wide rung that falls silent is looked at by itself; ",
                el("code", null, `sliceup stacks ${run.id.slice(0, 8)}`), " asks all programs at once."));
    } catch (error) {
        fill(byId("stacks"), el("p", null, String(error.message ?? error)));
    }
}

/* ---- numbers by host ---- */

/* "number.speed.compute", which hosts told, or "RUNG/PASS" or "RUNG/PASS/PHASE", in ms. */
function numberOfHosts([title, values]) {
    const [, told] = title.match(/^number\.([^/]*)$/s) ?? [], [rung, pass, ...phase] = told === undefined ? title.split("/") : [];
    return { title: told ?? [rung + (pass === "once" ? "" : ` (${pass})`), ...phase].join(" / "), rung, at: `${rung}/${pass}`, phase: phase.length > 0,
             values: values.map(value => Math.abs(value) < 1e300 ? value : null) }; // a sum of larger ones is no number
}
const numberText = ({ rung, unit }, value) => unit === "bytes" ? bytes(value) : rung ? duration(value) : String(Number(value.toPrecision(4)));

const isTime = ({ rung, unit }) => rung && unit !== "bytes";
const cellsOf = one => run.cells[run.rungs.findIndex(rung => rung.id === one.rung)] ?? "";

/* The median, the middle half, and who is farthest from them: of times, who took longest. It is kept. `cells`: how hosts stand at its rung; how long
 * one hung until its limit, or ran until it failed, is no time to compare: such hosts are left out. */
function spreadOf(one, cells) {
    if (one.spread && one.spread.cells === cells)
        return one.spread;
    const counts = !cells || !isTime(one) ? one.values : one.values.map((value, rank) => isBad(cells[rank], 1) ? null : value);
    const sorted = Float64Array.from(counts.filter(known)).sort(), last = sorted.length - 1, at = part => sorted[Math.round(last * part)];
    const median = (sorted[Math.floor(last / 2)] + sorted[Math.ceil(last / 2)]) / 2, distance = value => !known(value) ? -1 : one.rung ? value - sorted[0] : Math.abs(value - median);
    const farthest = counts.reduce((most, value, rank) => distance(value) > distance(counts[most]) ? rank : most, 0), times = counts[farthest] / median;
    const ratio = Number.isFinite(times) && times > 0 ? Math.max(times, 1 / times) : isTime(one) && times > 0 ? 1e9 : 1;
    const out = ratio >= STANDS_OUT && (!isTime(one) || counts[farthest] - median >= STANDS_OUT_MS);
    return one.spread = { cells, counts, n: sorted.length, absent: one.values.filter(known).length - sorted.length, median, low: at(0.25), high: at(0.75),
                          least: Math.min(0, sorted[0]), most: sorted[last], farthest, times, ratio, out };
}
const spreadHere = one => spreadOf(one, cellsOf(one));

/* Who took so many times the median, and three seconds more. Where others wait for a host, it is not they who are slow. */
function longerThan(one, times, more) {
    const { counts, median, n, most } = spreadHere(one), found = [];
    if (n > 3 && most - median >= SLOW_LEAST_MS && !/ \/ gate:/.test(one.title))
        counts.forEach((value, rank) => known(value) && value - median >= SLOW_LEAST_MS && value > times * median + more && found.push({ one, rank, value, median, times: value / median }));
    return found;
}

/* Of a run that has ended who took clearly longer than the others at a rung, or in a phase of it, the slowest first; where nobody did by that rule, the
 * one who took half as long again. */
function slowOnes() {
    const list = (numbers.list ?? []).filter(isTime), phases = new Map();
    for (const found of list.filter(one => one.phase).flatMap(one => longerThan(one, SLOW_TIMES, SLOW_LEAST_MS)).sort((a, b) => a.value - b.value))
        phases.set(`${found.rank} ${found.one.at}`, found); // of each host at each rung the longest
    const rungs = list.filter(one => !one.phase).flatMap(one => longerThan(one, SLOWER_TIMES, 0)).map(found => {
        const key = `${found.rank} ${found.one.at}`, phase = phases.get(key);
        phases.delete(key);
        return { ...found, phase, clear: phase || found.value > SLOW_TIMES * found.median + SLOW_LEAST_MS };
    });
    const clear = [...rungs.filter(one => one.clear), ...phases.values()].sort((a, b) => b.value - b.median - a.value + a.median);
    return clear.length ? clear : rungs.length === 1 ? [{ ...rungs[0], little: true }] : [];
}
const besideOthers = ({ one, value, median }) => `${numberText(one, value)}, the others ${numberText(one, median)}`;
const slowWords = found => `${found.one.title} ${besideOthers(found)}` + (found.phase ? `; in ${found.phase.one.title.split(" / ").slice(1).join(" / ")} ${besideOthers(found.phase)}` : "") +
    (found.little ? ` (${found.times.toFixed(1)} ×: less than twice as long, but nobody else took that long)` : "");

function slowItems() {
    const slow = slowOnes();
    return [...slow.slice(0, SLOW_TOLD).map((one, i) => el("li", null, markOf("s"), " was slow: ", button(run.names[one.rank], () => openHost(one.rank), { class: "plain", "data-key": "slow" + i }), ", ", said(slowWords(one)))),
            slow.length > SLOW_TOLD ? el("li", { class: "quiet" }, `and ${number(slow.length - SLOW_TOLD)} more: see the numbers by host`) : ""];
}

/* A report knows how long each host took at each rung; of a rung the last attempt counts. */
function numbersOfReport() {
    const list = {};
    for (const pass of (embedded.passes ?? []).filter(one => one.purpose !== "isolation")) {
        const values = Array(run.names.length).fill(null);
        attemptsOfPass(pass).forEach(({ rank, ms }) => { values[rank] = ms; });
        list[`${run.rungs[pass.rung]?.id}/${pass.pass}`] = values;
    }
    return { hosts: run.names, numbers: list };
}

/* New ones come when a rung has ended. */
async function readNumbers() {
    const of = [run.id, run.boot, run.summary?.state, ...run.rungs.map(rung => rung.outcome)].join(" ");
    if (!run.summary || numbers.of === of)
        return;
    numbers = { ...numbers, of };
    try {
        const answer = embedded ? numbersOfReport() : await ask("numbers", {});
        if (numbers.of === of)
            numbers = { of, list: Object.entries(answer.numbers).map(numberOfHosts).filter(({ values }) => values.filter(known).length > 1), over: numbers.over };
        draw("numbers");
    } catch (error) {
        if (error.name === "AbortError")
            numbers.of = ""; // nobody looked; else it is asked again when a rung has ended
    }
}

/* A dot a host that keeps its size however wide the plot is; those that would lie on each other stand on each other, and
 * where they are too many for that they are a bar. */
function plot(one) {
    const { counts, cells, median, low, high, least, most, farthest } = spreadHere(one);
    const x = value => 10 + (value - least) / Math.max(1e-9, most - least) * 980, places = Array.from({ length: DOTS_APART + 1 }, () => []);
    counts.forEach((value, rank) => known(value) && places[Math.round(x(value) / 1000 * DOTS_APART)].push(rank));
    const step = Math.min(7, 54 / Math.max(...places.map(ranks => ranks.length))), paths = { dot: [], "dot bad": [], "dot mine": [] };
    places.forEach((ranks, place) => {
        const at = (height, end) => `M${1000 * place / DOTS_APART} ${(60 - height * step).toFixed(1)}${end ?? "h0"}`, bad = rank => isBad(cells[rank], 1);
        ranks.sort((a, b) => bad(a) - bad(b)).forEach((rank, i) => {
            if (step > 1 || bad(rank))
                paths[bad(rank) ? "dot bad" : "dot"].push(at(i + 1));
            if (rank === view.opened)
                paths["dot mine"].push(at(i + 1));
        });
        if (step <= 1 && ranks.length)
            paths.dot.push(at(ranks.length, "V58"));
    });
    const wide = { dot: step > 1 ? Math.max(2, Math.min(6, step + 1)) : 4, "dot bad": 6, "dot mine": 10 };
    const title = svg("title"), hit = event => dotAt(event, places, step), words = rank => `${run.names[rank]} ${numberText(one, counts[rank])}`;
    const over = event => { const rank = hit(event); setText(title, known(rank) ? words(rank) : ""); event.currentTarget.classList.toggle("hit", known(rank)); };
    return svg("svg", { class: "plot", viewBox: "0 0 1000 62", preserveAspectRatio: "none", role: "img", onmousemove: over, onclick: event => openHost(hit(event) ?? -1),
                        "aria-label": `median ${numberText(one, median)}, farthest ${words(farthest)}` },
        title, svg("rect", { class: "under", x: x(low) - 5, y: 0, width: x(high) - x(low) + 10, height: 60 }), svg("line", { class: "axis", x1: 0, y1: 61, x2: 1000, y2: 61 }),
        svg("line", { class: "median", x1: x(median), y1: 0, x2: x(median), y2: 60 }),
        Object.entries(paths).filter(([, points]) => points.length).map(([name, points]) => svg("path", { class: name, "stroke-width": wide[name], d: points.join("") })));
}

/* Whose dot is under the pointer: of those that stand on each other the one at that height. A plot is as high as its box has units. */
function dotAt(event, places, step) {
    const box = event.currentTarget.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * DOTS_APART, near = 8 / box.width * DOTS_APART + 0.5;
    const filled = [...places.keys()].filter(place => places[place].length && Math.abs(place - at) <= near);
    const ranks = places[filled.sort((a, b) => Math.abs(a - at) - Math.abs(b - at))[0]] ?? [], height = Math.round((60 - (event.clientY - box.top)) / step) - 1;
    return height > ranks.length + 8 / step ? undefined : ranks[Math.max(0, Math.min(ranks.length - 1, height))];
}

function numberFigure(one) {
    const { counts, n, absent, median, low, high, least, most, farthest, times } = spreadHere(one), { title } = one, value = counts[farthest];
    const some = n + absent < run.names.length || absent ? ` of ${plural(n, "host")}${absent ? ` that passed (${number(absent)} did not)` : ""}` : "";
    return el("figure", null, el("figcaption", null, el("strong", null, said(title)), `: median ${numberText(one, median)}${some}, the middle half ${numberText(one, low)} to ${numberText(one, high)}; `,
        one.unit === "bytes" ? "most " : one.rung ? "longest " : "farthest ", button(run.names[farthest], () => openHost(farthest), { class: "plain", "data-key": "far" + title }), ` ${numberText(one, value)}`,
        times && Number.isFinite(times) && Math.abs(times - 1) >= 0.1 ? ` (${times.toFixed(1)} ×)` : ""),
        plot(one), el("div", { class: "scale" }, el("span", null, least ? numberText(one, least) : "0"), el("span", null, numberText(one, most))), numbers.over ? overFigure(one) : null);
}

/* Folded: drawn when somebody looks. */
function foldedFigures(key, words, list) {
    const open = byId("numbers").querySelector(`[data-key="${key}"]`)?.parentElement.open;
    const part = el("details", { open, ontoggle: () => part.children.length === 1 && put(part, null, list.map(numberFigure)) },
        el("summary", { "data-key": key }, words), open ? list.map(numberFigure) : "");
    return list.length ? part : "";
}

/* What stands out comes first; where nobody does, a line is enough. */
function drawNumbers() {
    const all = (numbers.list ?? []).filter(one => spreadHere(one).n > 1), list = all.sort((a, b) => spreadHere(b).out - spreadHere(a).out || (spreadHere(a).out ? spreadHere(b).ratio - spreadHere(a).ratio : 0));
    const phases = list.filter(one => one.phase).slice(0, PHASES_PLOTTED), news = phases.filter(one => spreadHere(one).out);
    const rungs = list.filter(one => !one.phase), calm = rungs.filter(one => !spreadHere(one).out), out = rungs.filter(one => spreadHere(one).out);
    byId("numbers-part").hidden = !list.length;
    fill(byId("numbers"), embedded ? "" : el("p", null, button("Over the last runs", readOver, { "data-key": "over" }), " ", changedWords(list)), out.map(numberFigure),
        foldedFigures("calm", ["No host stands out", out.length ? " elsewhere: " : ": ", calm.map(one => `${one.title} ${numberText(one, spreadHere(one).median)}`).join(", ")], calm),
        foldedFigures("phases", plural(phases.length, "phase") + (news.length ? `; a host stands out in ${news.slice(0, 3).map(one => one.title).join(", ")}${news.length > 3 ? ` and ${news.length - 3} more` : ""}` : ""), phases));
    draw("summary", "host"); // who was slow is said there
}

/* What programs told of their steps, and what they had of memory: a receipt has it, and that is read when somebody looks. */
async function readSteps() {
    if (!byId("steps-part").open || byId("steps").hasChildNodes())
        return;
    try {
        const { hosts: told } = await ask("receipt", { form: "json" }), ranks = new Map(run.names.map((name, rank) => [name, rank])), list = {};
        for (const { host, rungs } of told)
            for (const { rung, pass, counters, memory } of rungs)
                for (const [name, value, unit] of [["own part of a step", counters.step_own_ms], ["step", counters.step_ms], ["memory", memory.peak_bytes, "bytes"], ["memory of a device", memory.device_peak_bytes, "bytes"]])
                    if (value) {
                        const title = `${rung}${pass === "once" ? "" : ` (${pass})`} / ${name}`;
                        (list[title] ??= { title, rung, unit, values: Array(run.names.length).fill(null) }).values[ranks.get(host)] = value;
                    }
        const some = Object.values(list).filter(({ values }) => values.filter(known).length > 1);
        fill(byId("steps"), some.length ? some.map(numberFigure) : el("p", null, "No two hosts told steps or memory."));
    } catch (error) {
        fill(byId("steps"), el("p", null, String(error.message ?? error)));
    }
}

/* ---- numbers over runs ---- */

/* Of this run and those before it of its slice, the oldest first. */
async function readOver() {
    const { slice } = run.summary, { runs } = await ask("runs", {}).catch(() => ({ runs: [] })), over = [];
    const until = runs.slice(Math.max(0, runs.findIndex(one => one.run === run.id)));
    for (const { run: id } of until.filter(one => one.slice === slice && /^(ended|running)$/.test(one.state)).slice(0, RUNS_COMPARED).reverse()) {
        const answer = await ask("numbers", { run: id }).catch(() => null);
        if (answer)
            over.push({ id, of: new Map(Object.entries(answer.numbers).map(numberOfHosts).map(one =>
                [one.title, { median: spreadOf(one).median, hosts: new Map(answer.hosts.map((name, rank) => [name, one.values[rank]])) }])) });
    }
    numbers.over = over;
    byId("numbers").querySelector("[data-key=calm]")?.parentElement.setAttribute("open", ""); // their lines are asked for, too
    draw("numbers");
}

/* Which medians changed since the run before. */
function changedWords(list) {
    const at = numbers.over?.findIndex(({ id }) => id === run.id) ?? -1, before = numbers.over?.[at - 1];
    if (!before)
        return numbers.over ? "no earlier run of this slice is served here; sliceup serve --all serves all" : "";
    const changed = list.map(one => ({ one, was: before.of.get(one.title)?.median, is: numbers.over[at].of.get(one.title)?.median })).filter(({ one, was, is }) => was && is && Math.abs(is / was - 1) >= CHANGED && (!one.rung || Math.abs(is - was) >= CHANGED_MS))
        .sort((a, b) => a.one.phase - b.one.phase || Math.abs(Math.log(b.is / b.was)) - Math.abs(Math.log(a.is / a.was)));
    return [changed.length ? "changed" : "nothing changed by a tenth or more", " since run ", button(before.id.slice(0, 8), () => changeRun(before.id), { class: "plain", "data-key": "before" }), changed.length ? ": " : "",
            changed.slice(0, CHANGES_TOLD).map(({ one, was, is }) => `${one.title} ${numberText(one, was)} to ${numberText(one, is)} (${(is / was).toFixed(1)} ×)`).join(", "),
            changed.length > CHANGES_TOLD ? `, and ${number(changed.length - CHANGES_TOLD)} more` : ""];
}

/* A line a host, and the median; the host that is opened, or else the farthest, by its name. */
function overFigure(one) {
    const told = numbers.over.flatMap(({ id, of }) => of.has(one.title) ? [{ id, ...of.get(one.title) }] : []), name = run.names[view.opened ?? spreadHere(one).farthest];
    const most = Math.max(1e-9, ...told.flatMap(({ hosts: of }) => [...of.values()].filter(known)));
    const line = valueOf => told.flatMap((at, i) => known(valueOf(at)) ? [`${((i + 0.5) / told.length * 1000).toFixed(1)} ${(95 - valueOf(at) / most * 90).toFixed(1)}`] : []).join("L").replace(/^(?=.)/, "M");
    return told.length < 2 ? null : [
        svg("svg", { class: "over", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": told.map(({ id, median }) => `${id.slice(0, 8)}: median ${numberText(one, median)}`).join("; ") },
            svg("line", { class: "axis", x1: 0, y1: 95, x2: 1000, y2: 95 }), svg("path", { class: "host", d: run.names.map(host => line(({ hosts: of }) => of.get(host))).join("") }),
            svg("path", { class: "middle", d: line(({ median }) => median) }), svg("path", { class: "mine", d: line(({ hosts: of }) => of.get(name)) })),
        el("div", { class: "scale even" }, told.map(({ id, median, hosts: of }) => el("span", null, `${id.slice(0, 8)} ${numberText(one, median)}`,
            known(of.get(name)) ? [" ", said(name), ` ${numberText(one, of.get(name))}`] : "")))];
}

/* ---- two hosts ---- */

function toggleMark(rank) {
    view.marked = view.marked.includes(rank) ? view.marked.filter(other => other !== rank) : [...view.marked, rank].slice(-2);
    view.scrollsToPair = view.marked.length === 2;
    for (const other of view.marked)
        readHost(run.names[other]);
    draw("tiles", "host", "pair");
}

function pairRows(a, b, valuesOf) {
    const left = valuesOf(a), right = valuesOf(b), rows = [];
    for (const name of [...new Set([...Object.keys(left), ...Object.keys(right)])].sort())
        rows.push({ class: left[name] === right[name] ? null : "differs", row: [said(name), said(left[name] ?? "-"), said(right[name] ?? "-")] });
    return rows;
}

function phaseTimes(host) {
    const times = {};
    for (const attempt of attemptsShown(host)) {
        const where = attemptName(attempt);
        times[where] = [MARKS[attempt.mark]?.[0], duration(attempt.ms)].filter(Boolean).join(", ");
        for (const span of attempt.spans)
            times[`${where} ${span.name}`] = duration(span.ms);
    }
    return times;
}

function drawPair() {
    const [a, b] = view.marked.map(rank => hosts[run.names[rank]]);
    byId("pair-part").hidden = !(a && b && !a.error && !b.error);
    if (byId("pair-part").hidden)
        return;
    const facts = pairRows(a, b, host => host.facts ?? {}).filter(row => row.class);
    fill(byId("pair"), table("phases", ["phase", a.host, b.host], pairRows(a, b, phaseTimes)),
        facts.length ? table("facts that differ", ["fact", a.host, b.host], facts) : el("p", null, "Their facts are the same."));
    if (view.scrollsToPair) // once, by whom it was asked for
        byId("pair-part").scrollIntoView({ block: "nearest" });
    view.scrollsToPair = false;
}

/* ---- drift ---- */

const SEVERITY = { other: 1, slows: 2, breaks: 3 };

function takeDrift(report) {
    driftOf = new Uint8Array(run.names.length);
    for (const finding of report.findings ?? [])
        for (const group of finding.groups.filter(one => !one.reference)) {
            const holds = hostSet(group.hosts);
            run.names.forEach((name, rank) => {
                if (holds(name))
                    driftOf[rank] = Math.max(driftOf[rank], SEVERITY[finding.severity] ?? 1);
            });
        }
    fill(byId("drift"), el("p", null, report.sentence), report.findings?.length ? driftTable(report.findings) : "");
    sayDrift();
    draw("tiles");
}

/* Also that there is nothing to see. */
function sayDrift(why) {
    const n = driftOf.filter(Boolean).length, found = n === 1 ? "1 host differs from the others: a corner marks it" : `${number(n)} hosts differ from the others: a corner marks them`;
    setText(byId("drift-said"), !view.drift ? "" : why ?? (n ? `${found}, the larger the worse.` : "No host differs from the others."));
}

const driftTable = findings => table("facts that differ, the worst first", ["fact", "severity", "hosts", "what to do"], findings.map(finding => [said(finding.fact),
    `${finding.severity}: ${finding.verdict}`,
    finding.groups.map(group => el("div", null, said(group.hosts), group.reference ? " (reference): " : ": ", said(group.value ?? "not told"),
        group.before ? [" before: ", said(group.before)] : "")),
    [finding.why, " ", finding.next ?? ""]]));

async function readDrift() {
    try {
        const report = embedded ? embedded.drift : await ask("drift", {});
        if (report)
            takeDrift(report);
    } catch (error) {
        fill(byId("drift"), el("p", null, String(error.message ?? error)));
        sayDrift(String(error.message ?? error));
    }
}

function setDrift(on) {
    view.drift = byId("drift-layer").checked = on;
    if (on)
        readDrift();
    else
        sayDrift();
    draw("tiles");
}

/* ---- runs, and files to keep ---- */

async function readRuns() {
    const { runs } = await ask("runs", {}).catch(error => ({ runs: [], error }));
    fill(byId("runs"), el("ol", null, runs.map(one => el("li", { class: one.run === run.id ? "chosen" : null, title: one.sentence },
        markOf(stateLetter(one)), " ", button(one.run.slice(0, 8), () => changeRun(one.run), { class: "plain", "data-key": one.run, "aria-current": one.run === run.id }),
        ` ${clock(one.began_wall_ms).slice(0, 16)} ${one.slice ?? ""} `, el("span", { class: "quiet" }, said(shortSentence(one)))))));
}

/* How many hosts "v6e-[0-3,7],x" names. */
function hostsIn(text) {
    const range = one => { const [, low, high, step] = one.match(/^(\d+)(?:-(\d+))?(?:\/(\d+))?$/) ?? []; return Math.floor(((high ?? low) - low) / (step || 1)) + 1; };
    return hostItems(text).reduce((sum, item) => sum + [...item.matchAll(/\[([^\]]*)\]/g)].reduce((n, [, ranges]) => n * ranges.split(",").reduce((all, one) => all + range(one), 0), 1), 0);
}

/* "failed at train: 1 failed, 2 timed out of 64 hosts", from the sentence, which names each cause; what has another form is told as it is. */
function shortSentence({ slice, sentence, outcome, state, hosts: n }) {
    const word = outcome ?? state, start = `slice ${slice}: `, rest = sentence?.startsWith(start) ? sentence.slice(start.length) : sentence, counts = {};
    const [, where, pass, causes] = rest?.match(/^stopped at rung (\S+) \(\d+ of \d+\)(?:, (\S+) pass)?(?:: (.*))?$/s) ?? [];
    if (!where)
        return word + (rest ? ": " + rest : "");
    for (const cause of causes?.split(" | ") ?? []) {
        const [, many, names, how] = cause.match(/^(?:(\d+) hosts, \S*\.\.\.|(\S+)) ([a-z-]+): /) ?? [];
        if (how in OUTCOME_LETTERS)
            counts[how] = (counts[how] ?? 0) + (many ? Number(many) : hostsIn(names));
    }
    const told = [...WORST, "cascade"].filter(how => counts[how]).map(how => `${number(counts[how])} ${MARKS[OUTCOME_LETTERS[how]][0]}`);
    const more = /(^| \| )and [^|]*more causes?: /.test(causes ?? "") ? ", and more" : "";
    return `${word} at ${where}${pass ? ` (${pass})` : ""}${told.length ? `: ${told.join(", ")}${more} of ${plural(n, "host")}` : ""}`;
}

function changeRun(id) {
    view.run = id;
    view.opened = log = null;
    view.marked = [];
    view.layer = -1;
    view.cursor = 0;
    view.pointed = view.scrollsToPair = false;
    hosts = {};
    run = nothingKnown();
    driftOf = new Uint8Array(0);
    fill(byId("drift"));
    byId("host-part").hidden = byId("pair-part").hidden = byId("stacks-part").hidden = true;
    byId("runs-part").open = false;
    numbers = { of: "", list: [], over: null };
    byId("steps-part").open = false;
    fill(byId("steps"));
    draw("numbers");
    keepAddress();
    asking.abort(); // `follow` asks anew
}

async function keepFile(form, name) {
    try {
        const link = el("a", { href: URL.createObjectURL(await (await fetchApi("receipt", { form })).blob()), download: name });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    } catch (error) {
        trouble(String(error.message ?? error));
    }
}

function offerFiles() {
    const forms = [["json", "receipt.json", "JSON"], ["markdown", "receipt.md", "Markdown"], ["junit", "junit.xml", "JUnit"], ["trace", "trace.perfetto.json", "Perfetto trace"]];
    fill(byId("files"), forms.map(([form, name, words]) => button(words, () => keepFile(form, name))));
}

/* ---- asking ---- */

/* What takes long is made meanwhile: it is asked for again, for a minute. */
async function fetchApi(path, query, until = performance.now() + 60000) {
    const token = address.get("token"), asked = new URLSearchParams(path === "runs" ? query : { run: view.run, ...query });
    const answer = await fetch(`api/${path}?${asked}`, { headers: token ? { Authorization: `Bearer ${token}` } : {}, signal: asking.signal, cache: "no-store" });
    if (answer.ok)
        return answer;
    if (answer.status === 503 && path !== "state" && performance.now() < until) {
        await pause(1000 * Number(answer.headers.get("Retry-After") ?? 1));
        return fetchApi(path, query, until);
    }
    const why = answer.status === 401 ? "This address wants the token that `sliceup serve` printed: open the address that it printed, whole."
        : (await answer.text()).trim() || `sliceup-web answered ${answer.status}`;
    throw Object.assign(new Error(why), { status: answer.status });
}
const ask = async (path, query) => (await fetchApi(path, query)).json();

function trouble(text) {
    byId("trouble").hidden = !text;
    setText(byId("trouble"), text);
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const whenVisible = () => document.hidden ? new Promise(resolve => document.addEventListener("visibilitychange", resolve, { once: true })) : null;

function keepAddress() {
    address.set("run", view.run);
    view.opened === null ? address.delete("host") : address.set("host", run.names[view.opened]);
    history.replaceState(null, "", "#" + address);
}

async function askState() {
    const known = run.summary ? { since: run.revision, wait: 1 } : {}, boot = run.boot;
    const state = await ask("state", known);
    if (!state.whole && state.boot !== boot)
        run = nothingKnown(); // another process counts other revisions: asked anew
    else
        takeState(state);
}

function opensHost() {
    const rank = run.names.indexOf(address.get("host"));
    if (view.opened === null && rank >= 0)
        openHost(rank);
    else if (view.opened !== null && performance.now() - readAt > HOST_PAUSE_MS)
        readHost(run.names[view.opened]);
}

/* Asks for what is new, one request at a time, and for none while nobody looks. */
async function follow() {
    for (let failures = 0;;) {
        try {
            await whenVisible();
            await askState();
            trouble("");
            failures = 0;
            opensHost();
            readWithin(false);
            readNumbers();
            await pause(run.summary?.state === "ended" ? 5000 : PAUSE_MS);
        } catch (error) {
            if (asking.signal.aborted) {
                asking = new AbortController();
                continue;
            }
            failures = Math.min(failures + 1, 6);
            trouble(error.status ? error.message : "sliceup-web does not answer; asking again");
            await pause(error.status === 401 ? 60000 : 250 * 2 ** failures);
        }
    }
}

/* ---- frames ---- */

const PARTS = { summary: drawSummary, tiles: drawTiles, ladder: drawLadder, groups: drawGroups, metrics: drawMetrics, numbers: drawNumbers, gates: drawGates,
                notes: drawNotes, table: drawTable, host: drawHost, pair: drawPair };
const stale = new Set();

function draw(...parts) {
    if (!stale.size)
        requestAnimationFrame(drawStale);
    parts.filter(Boolean).forEach(part => stale.add(part));
}

function drawStale() {
    const parts = [...stale], began = performance.now();
    stale.clear();
    if (run.names.length)
        parts.forEach(part => PARTS[part]());
    canvas.frames.push(performance.now() - began);
    canvas.frames.splice(0, Math.max(0, canvas.frames.length - FRAMES_KEPT));
}

/* ---- keys ---- */

function moveBy(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }, lines = { ArrowUp: -1, ArrowDown: 1 };
    if (event.key in steps)
        moveCursor(view.cursor + steps[event.key]);
    else if (event.key in lines) {
        const [x, y] = grid.of(view.cursor), rank = grid.rank(x, y + lines[event.key]);
        moveCursor(rank < 0 ? view.cursor : rank);
    }
    else if (event.key === "Enter")
        openHost(view.cursor);
    else
        return;
    event.preventDefault();
}

function actOnKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open)
        return;
    if (event.key === "Escape") {
        byId("runs-part").open = false;
        return setFilter("");
    }
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
        return;
    const acts = { "n": nextFailure, "/": () => byId("filter").focus(), "m": () => toggleMark(view.cursor), "d": () => setDrift(!view.drift), "?": () => byId("help").showModal() };
    if (!acts[event.key])
        return;
    event.preventDefault();
    acts[event.key]();
}

function listen() {
    canvas.addEventListener("keydown", moveBy);
    canvas.addEventListener("click", event => openHost(rankAt(event)));
    canvas.addEventListener("mousemove", event => setText(byId("cursor"), describe(rankAt(event))));
    canvas.addEventListener("mouseleave", () => draw("tiles"));
    document.addEventListener("keydown", actOnKey);
    document.addEventListener("pointerdown", event => press(event.target));
    document.addEventListener("keydown", event => event.key === " " && press(event.target));
    for (const kind of ["pointerup", "pointercancel", "keyup", "blur"])
        addEventListener(kind, () => pressed && setTimeout(() => press(null))); // after the click
    byId("filter").addEventListener("input", event => setFilter(event.target.value));
    byId("layer").addEventListener("change", event => { view.layer = -2; setLayer(Number(event.target.value)); });
    byId("drift-layer").addEventListener("change", event => setDrift(event.target.checked));
    byId("drift-part").addEventListener("toggle", readDrift);
    byId("runs-part").addEventListener("toggle", () => embedded || readRuns());
    byId("steps-part").addEventListener("toggle", readSteps);
    byId("table-part").addEventListener("toggle", drawTable);
    byId("next-failure").addEventListener("click", nextFailure);
    byId("stacks-button").addEventListener("click", readStacks);
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("log-of").addEventListener("change", () => offerLogs(hosts[run.names[view.opened]]));
    document.querySelector(".skip").addEventListener("click", event => goTo(event, "causes"));
    addEventListener("hashchange", () => location.reload()); // another address: another token or run
    addEventListener("resize", () => draw("tiles"));
    new ResizeObserver(() => draw("tiles")).observe(map); // what appears beside it takes half of the width
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"])
        matchMedia(query).addEventListener("change", () => { readColours(); draw("summary", "tiles", "ladder", "groups"); });
    document.addEventListener("visibilitychange", () => document.hidden && !embedded && asking.abort());
}

/* Of a report: who, where and with what, as in the receipt; what programs told, from the least host to the most. */
function drawReceipt() {
    const { head = [], numbers: told = [], text } = embedded;
    byId("receipt-part").hidden = !head.length;
    fill(byId("receipt"), head.flatMap(([label, words]) => [el("dt", null, label), el("dd", null, said(words))]));
    byId("told-part").hidden = !told.length;
    fill(byId("told"), told.map(({ name, hosts: n, values, least, most }) => {
        const words = `${name.replace("number.", "")}: ${values[0]} (${least}) to ${values.at(-1)} (${most}), ${plural(n, "host")}`, top = Math.max(...values) || 1, wide = 100 / values.length;
        return el("figure", null, el("figcaption", null, said(words)), svg("svg", { class: "time", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": words },
            values.map((value, i) => svg("rect", { class: "s0", x: i * wide, width: wide * 0.8, y: 10 - 10 * Math.max(value, 0) / top, height: 10 * Math.max(value, 0) / top }))));
    }));
    byId("copy").hidden = !text;
    byId("copy").addEventListener("click", () => navigator.clipboard.writeText(text).then(() => setText(byId("copied"), "copied"), () => setText(byId("copied"), "the browser refused: sliceup receipt prints it")));
}

function start() {
    readColours();
    listen();
    offerFiles();
    fill(byId("keys"), KEYS.flatMap(([key, words]) => [el("dt", null, el("kbd", null, key)), el("dd", null, words)]));
    if (!embedded) {
        byId("runs-part").hidden = false;
        setInterval(() => run.summary?.state === "running" && !document.hidden && readLog(), HOST_PAUSE_MS);
        return follow();
    }
    byId("drift-part").hidden = !embedded.drift;
    drawReceipt();
    for (const host of embedded.hosts ?? [])
        hosts[host.host] = host;
    takeState(embedded.state);
    readNumbers();
}
start();

})();
