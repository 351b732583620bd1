"use strict";
/* How anything gets onto the page: elements are made one by one, and what comes from a prompt becomes a text node.
   A text is a string, or a list in which a number stands for a hidden character, which is drawn by its code. */
const SVG = "http://www.w3.org/2000/svg";
/* A part has the colour of its pace; what has none, a tool or a message of a request, that of whose it is. */
const GROUPS = ["release", "project", "session", "turn", "tool", "system", "user", "assistant", "none"];
const format = new Intl.NumberFormat("en");
const number = (value) => format.format(value);
const percent = (share) => (share * 100).toFixed(1) + "%";
const wordFor = (count, word) => word + (count === 1 ? "" : "s");
const plural = (count, word) => number(count) + " " + wordFor(count, word);
const groupOf = (row) => GROUPS.find((group) => group === row.pace || (!row.pace && (group === row.kind || group === row.role))) || "none";

/* Children may be lists: what is as long as the data is never spread into arguments, of which there can be too many. */
function put(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) put(element, child);
    else if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function make(tag, names, ...children) {
  const element = document.createElement(tag);
  if (names) element.className = names;
  return put(element, children);
}

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

const codeOf = (point) => "\u27e8U+" + point.toString(16).toUpperCase().padStart(4, "0") + "\u27e9";

/* The nodes of a text, hidden characters drawn; of a long run of one of them, one and how many. */
const RUN = 8;
function nodes(text) {
  if (typeof text === "string") return [document.createTextNode(text)];
  const found = [];
  for (let at = 0; at < text.length; at += 1) {
    const piece = text[at];
    if (typeof piece === "string") { found.push(document.createTextNode(piece)); continue; }
    let end = at;
    while (text[end] === piece) end += 1;
    if (end - at >= RUN) {
      found.push(make("span", "hidden", codeOf(piece) + " \u00d7 " + number(end - at)));
      at = end - 1;
    } else found.push(make("span", "hidden", codeOf(piece)));
  }
  return found;
}

/* A short text on its own: whatever direction it has, it turns nothing around it. */
const isolated = (text) => make("bdi", "", nodes(text));

/* A text as one string, for titles and for searching. */
const plain = (text) =>
  typeof text === "string" ? text : text.map((piece) => (typeof piece === "string" ? piece : codeOf(piece))).join("");

/* A long text as blocks of some lines each: the browser lays out only those that are seen. */
const BLOCK = 12000;
function* blocks(text) {
  let block = [], size = 0;
  for (const piece of typeof text === "string" ? [text] : text) {
    if (typeof piece === "number") {
      if (size > BLOCK && block[block.length - 1] !== piece) { yield block; block = []; size = 0; }
      if (block[block.length - 1] !== piece) size += 8;
      block.push(piece);
      continue;
    }
    let start = 0;
    while (piece.length - start + size > BLOCK) {
      let end = piece.lastIndexOf("\n", start + BLOCK - size);
      if (end < start) end = start + Math.max(BLOCK - size, 1);
      /* no half of a pair of surrogates */
      if (/[\ud800-\udbff]/.test(piece[end - 1] || "") && piece[end] !== "\n") end += 1;
      block.push(piece.slice(start, end));
      yield block;
      block = []; size = 0;
      start = piece[end] === "\n" ? end + 1 : end;
    }
    if (start < piece.length) { block.push(piece.slice(start)); size += piece.length - start; }
  }
  yield block;
}

function preformatted(text) {
  return Array.from(blocks(text), (block) => {
    const pre = make("pre", "", nodes(block));
    pre.dir = "ltr";
    return pre;
  });
}

const figures = (pairs) =>
  make("ul", "figures", ...pairs.map(([value, name]) => make("li", "", make("b", "", value), make("span", "", name))));

/* A figure that counts something, with the word for it. */
const counted = (count, word) => [number(count), wordFor(count, word)];

const pair = (name, ...values) => [make("dt", "", name), make("dd", "", ...values)];

/* Where a place is, as an editor takes it. */
function placeOf(cause) {
  const place = make("span", "", isolated(cause.place));
  const source = plain(cause.source);
  if (source && !plain(cause.place).includes(source)) place.append(", ", isolated(cause.source));
  if (cause.line) place.append(", line " + number(cause.line));
  place.append(", byte " + number(cause.offset));
  return place;
}

function causeOf(cause) {
  const ended = (text) => (typeof text === "string" ? [text] : text).map((piece) => (typeof piece === "string" ? piece.replaceAll("\n", "\u23ce") : piece));
  const quoted = (text) => (plain(text) ? preformatted(ended(text))[0] : make("span", "soft", "(nothing)"));
  return make("div", "cause",
    make("b", "", cause.kind), ": " + cause.why,
    make("dl", "",
      ...pair("where", placeOf(cause)), ...pair("was", quoted(cause.old)), ...pair("is", quoted(cause.new)),
      ...pair("kept", plural(cause.kept, "token") + " before it, at most (estimated)"),
      ...pair("after", plural(cause.after, "token") + ", " + number(cause.repeated) + " of them sent before")),
    cause.changing ? make("p", "soft", "This part may change every turn. Everything that should be cached comes before it.") : null);
}

/* Up, Down, Home and End go through the buttons of a list. */
function arrows(list, choose) {
  list.addEventListener("keydown", (event) => {
    const all = Array.from(list.querySelectorAll("button")).filter((button) => !button.hidden);
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || !all[to]) return;
    event.preventDefault();
    all[to].focus();
    if (choose) choose(all[to]);
  });
}
