// Syntax of Python: the parts of a line, and the strings that go on over several lines.

const KEYWORDS = new Set(
  (
    "False None True and as assert async await break case class continue def del elif else" +
    " except finally for from global if import in is lambda match nonlocal not or pass raise" +
    " return try type while with yield cdef cpdef cimport"
  ).split(" "),
);
const BUILTINS = new Set(
  (
    "abs all any bool bytearray bytes callable chr classmethod complex dict dir divmod" +
    " enumerate eval exec filter float format frozenset getattr hasattr hash hex id input int" +
    " isinstance issubclass iter len list map max memoryview min next object oct open ord pow" +
    " print property range repr reversed round self set setattr slice sorted staticmethod str" +
    " sum super tuple vars zip"
  ).split(" "),
);

// The groups but `quotes`, which begin a string that may go on, are kinds of parts.
const PART =
  /(?<comment>#.*)|(?<quotes>[A-Za-z]{0,2}(?:"""|'''))|(?<string>[A-Za-z]{0,2}"(?:[^"\\]|\\.)*"?|[A-Za-z]{0,2}'(?:[^'\\]|\\.)*'?)|(?<number>\b(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?[jJ]?))|(?<decorator>^\s*@[\w.]+)|(?<name>[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)/g;

/** Return where a string in three quotes ends in `line` from `from` on; -1 if it goes on. */
function endOfString(line, quotes, from) {
  const rest = new RegExp(`(?:[^\\\\]|\\\\.)*?${quotes}`, "sy");
  rest.lastIndex = from;
  return rest.test(line) ? rest.lastIndex : -1;
}

/**
 * Call `emit(text, kind)` with each part of a line, and return the quotes of the string
 * that goes on in the next line, or "". `open` are those that come from the line before.
 */
function pythonParts(line, open, emit) {
  let at = 0;
  let before = "";
  const goesOn = (start, quotes) => {
    const end = endOfString(line, quotes, at);
    at = end < 0 ? line.length : end;
    emit(line.slice(start, at), "string");
    return end < 0;
  };
  if (open && goesOn(0, open)) return open;
  PART.lastIndex = at;
  for (let match; (match = PART.exec(line)); ) {
    if (match.index > at) emit(line.slice(at, match.index), "");
    const [text] = match;
    const { quotes, name } = match.groups;
    at = match.index + text.length;
    if (quotes) {
      if (goesOn(match.index, quotes.slice(-3))) return quotes.slice(-3);
      PART.lastIndex = at;
    } else if (name) {
      const defines = before === "def" || before === "class";
      if (KEYWORDS.has(text)) emit(text, "keyword");
      else if (defines) emit(text, "defined");
      else emit(text, BUILTINS.has(text) ? "builtin" : "");
      before = text;
    } else emit(text, Object.keys(match.groups).find((kind) => match.groups[kind]));
  }
  if (at < line.length) emit(line.slice(at), "");
  return "";
}

/** Return a line as texts and coloured elements; `open` are the quotes it begins in. */
function pythonSpans(line, open) {
  const found = [];
  pythonParts(line, open, (text, kind) => {
    found.push(kind ? h("span", { class: `py-${kind}` }, visible(text)) : visible(text));
  });
  return found;
}

/** Colours of one text; the state at the start of a line is found when it is needed. */
class Highlighter {
  constructor(lines) {
    this.lines = lines;
    this.open = [""]; // quotes that are open where each line begins
  }

  /** Return the spans of a line (from 0). */
  spans(index) {
    const { open, lines } = this;
    for (let at = open.length - 1; at < index; at++) {
      const line = lines[at];
      const isPlain = !open[at] && !line.includes('"""') && !line.includes("'''");
      open.push(isPlain ? "" : pythonParts(line, open[at], () => {}));
    }
    return pythonSpans(lines[index], open[index]);
  }
}
