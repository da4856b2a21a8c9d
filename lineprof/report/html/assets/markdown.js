// Texts in Markdown, for issues and comments: https://github.github.com/gfm/. A word that could be markup,
// a link, a mention or a reference becomes code, in which nothing has a meaning but the pipes of a table.
// The rules are those of lineprof/report/markdown.py, with signs that only the page has.

const MOST_LETTERS = 60000; // of a copied text: a comment on GitHub has 65,536 at most
const MOST_OF_CELL = 300; // letters of code
const MOST_OF_SENTENCE = 1000; // letters
// cmark, GitHub's renderer, closes no more than 80 backticks side by side.
const MANY_TICKS = /`{40,}/g;

/** A word, with the punctuation around it: words without another meaning, and those that GitHub links. */
const PUNCTUATED = /^(["'(]*)(.*?)([)"',;:.!?]*)$/u;
const PLAIN = /^([+<\u00b1\u2212-]?\d[\d,.]*(([-/\u2013]|e[+-])\d[\d,.]*)?(%|\p{L}{1,2})?|\p{L}+([-'/]\p{L}+)*|[\p{L}\p{N}]+|[-+=%<>\u00b7\u00d7\u2014\u2026\u2190\u2192]|[<>]=|->|\.{3})?$/u;
const LINKED = /^(www|(?=.*[a-f])[\da-f]{7,40})$/i;

/** Return a run of backticks that is longer than those in `text`. */
function fenceOf(text, least) {
  const runs = text.match(/`+/g) ?? [];
  return "`".repeat(Math.max(least, ...runs.map((one) => one.length + 1)));
}

/** Return a text of at most `most` letters, and dots if it had more. */
function cutAt(text, most) {
  return text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}\u2026` : text;
}

/** Return a text as code in a line; "" for blanks. */
function codeSpan(text) {
  const whole = visible(text.replaceAll("\n", "\\n").replaceAll("\t", "    ")).replace(MANY_TICKS, `${"`".repeat(39)}\u2026`);
  const short = cutAt(whole, MOST_OF_CELL);
  // Renderers do not agree how to escape a pipe behind a backslash: such a pipe stands between two pieces of code.
  const pieces = short.split("\\|");
  if (pieces.length > 1) return pieces.map((one, at) => codeSpan(at < pieces.length - 1 ? `${one}\\` : one)).join("&#124;");
  if (!short.trim()) return "";
  const fence = fenceOf(short, 1);
  const ends = short[0] + short.at(-1);
  // One blank at both ends is taken away where there is one at both.
  const blank = ends.includes("`") || ends === "  " ? " " : "";
  return fence + blank + short + blank + fence;
}

/** Return a text whose words are code if they could have a meaning. */
function inline(text) {
  return cutAt(text.replaceAll("\n", "\\n"), MOST_OF_SENTENCE).trim().split(/\s+/).map(wordMarkdown).join(" ");
}

/** Return a word as it is, or as code without the punctuation around it. */
function wordMarkdown(word) {
  let [, before, core, after] = PUNCTUATED.exec(word);
  if (core.includes("(") && after.startsWith(")")) [core, after] = [`${core})`, after.slice(1)];
  return PLAIN.test(core) && !LINKED.test(core) ? word : before + codeSpan(core) + after;
}

/** Return lines of code as a block. */
function codeBlock(lines) {
  const text = lines.join("\n");
  const fence = fenceOf(text, 3);
  return `${fence}text\n${text}\n${fence}`;
}

/** Return what a cell shows: a text, an element, or an array of these. Drawings and buttons are nothing. */
function cellMarkdown(content) {
  if (content == null || content === false) return "";
  if (Array.isArray(content)) return content.map(cellMarkdown).filter(Boolean).join(" ");
  if (!(content instanceof Element)) return inline(content.data ?? String(content));
  if (content.matches("[aria-hidden], .fold")) return "";
  return content.matches("code, bdi, .text") ? codeSpan(content.textContent) : cellMarkdown([...content.childNodes]);
}

/** Return as many of `count` lines as have `room` (letters), and how many have none; `make(at)` returns one. */
function fitting(count, make, room = MOST_LETTERS) {
  const lines = [];
  for (let letters = 0; lines.length < count; ) {
    const one = make(lines.length);
    letters += one.length + 1;
    if (letters > room) break;
    lines.push(one);
  }
  return [lines, count - lines.length];
}

/** Return how many rows a text lacks, as a paragraph. */
function leftOut(rows, noun = "more row") {
  return rows ? `\n\n${counted(rows, noun)} left out.` : "";
}

/** Return a table below its title; columns have a `title` and may be `left`, `cells(at)` are Markdown. */
function tableMarkdown(title, columns, count, cells, room) {
  const row = (texts) => `| ${texts.map((one) => one.replaceAll("|", "\\|")).join(" | ")} |`;
  const [lines, rest] = fitting(count, (at) => row(cells(at)), room);
  const head = [row(columns.map((one) => inline(one.title))), row(columns.map((one) => (one.left ? ":--" : "--:")))];
  return `${title}\n\n${[...head, ...lines].join("\n")}${leftOut(rest)}`;
}

/** Return an HTML table as one of Markdown. */
function htmlTableMarkdown(title, table, room) {
  const isDrawing = (cell) => cell.firstElementChild?.matches(".bar") && !cell.textContent;
  const cells = (row) => [...row.cells].filter((one) => !isDrawing(one));
  const indent = (cell) => "&emsp;".repeat(parseFloat(cell.style.paddingLeft || 0) / 14);
  const rows = [...table.tBodies[0].rows];
  const first = rows.length ? cells(rows[0]) : [];
  const titles = table.tHead ? cells(table.tHead.rows[0]).map((one) => one.textContent) : first.map(() => "");
  const columns = titles.map((one, at) => ({ title: one, left: first[at]?.matches("th, .left, .text, .process td") }));
  return tableMarkdown(title, columns, rows.length, (at) => cells(rows[at]).map((one) => indent(one) + cellMarkdown(one)), room);
}

/** Return some tables, which share the room; `make(room)` returns one, "" for none. */
function tablesMarkdown(makes) {
  return makes.map((make) => make(MOST_LETTERS / makes.length)).filter(Boolean).join("\n\n");
}

/** Return the title of a text: what it shows, and of which program. */
function titleMarkdown(what, more = "") {
  return `**${inline(what)}** of ${codeSpan(data.title)}${more}`;
}
