/* One prompt: its tokens as a strip, its parts as a list, its text with the parts in the colours of their paces. */
const PACE_WORDS = {
  release: "with a release", project: "with the project", session: "with the session", turn: "with every turn", "": "pace not known",
};

/* What there is to say of a row, in pieces that may each have a direction of their own. */
function said(row) {
  const pieces = [row.name];
  if (plain(row.kind) !== "system") pieces.push(plain(row.kind) + (plain(row.role) ? " of " + plain(row.role) : ""));
  pieces.push(PACE_WORDS[row.pace] || PACE_WORDS[""]);
  if (plain(row.origin)) pieces.push((row.own ? "your own: " : "") + plain(row.origin));
  return [...pieces, plural(row.bytes, "byte") + " from " + number(row.start), plural(row.tokens, "token"), percent(row.share), "SHA-256 " + row.sha256.slice(0, 12)];
}

/* The same for a title, in which only isolates can keep the pieces apart. */
const describe = (row) => said(row).map((piece) => "\u2068" + plain(piece) + "\u2069").join(" \u00b7 ");

/* A rule between two parts: where the static prefix ends, where a cache mark stands. */
function* rulesAfter(view, index) {
  const row = view.rows[index];
  if (row.mark !== null) yield "cache mark" + (plain(row.mark) ? " for " + plain(row.mark) : "");
  if (index + 1 === view.static && index + 1 < view.rows.length) yield "end of the static prefix";
}

function stripOf(rows, choose) {
  const strip = make("div", "strip");
  strip.setAttribute("role", "img");
  strip.setAttribute("aria-label", "The parts of the prompt, each as wide as its tokens");
  rows.forEach((row, index) => {
    const button = make("button", groupOf(row) + (rows.length < 120 && row.tokens > 0 ? " wide" : ""));
    button.style.flexGrow = Math.max(row.tokens, 0);
    button.title = describe(row);
    button.tabIndex = -1;
    if (choose) button.addEventListener("click", () => choose(index));
    strip.append(button);
  });
  return strip;
}

function legendOf(rows, changed) {
  const legend = make("div", "legend");
  for (const group of GROUPS) {
    const own = rows.filter((row) => groupOf(row) === group);
    if (!own.length) continue;
    const box = make("input");
    box.type = "checkbox"; box.checked = true; box.dataset.group = group;
    box.addEventListener("change", changed);
    const tokens = own.reduce((sum, row) => sum + row.tokens, 0);
    legend.append(make("label", group, box, " ", make("span", "swatch"),
      (group === "none" ? "no pace" : group) + " ", make("span", "soft", plural(tokens, "token"))));
  }
  return legend;
}

function listButton(row, most) {
  const fill = make("i");
  fill.style.width = (100 * Math.max(row.tokens, 0)) / Math.max(most, 1) + "%";
  const kind = plain(row.kind) === "system" ? null : make("span", "soft", " " + plain(row.kind));
  const button = make("button", groupOf(row), make("span", "name", isolated(row.name), kind),
    make("span", "size", number(row.tokens) + " ", make("span", "soft", percent(row.share))),
    make("span", "share", fill));
  button.title = describe(row);
  return button;
}

function partOf(row) {
  const name = make("header", "", make("b", "", isolated(row.name)),
    make("span", "", row.pace || groupOf(row)), make("span", "", plural(row.tokens, "token")),
    plain(row.origin) ? make("span", "", row.own ? "your own: " : "", isolated(row.origin)) : null,
    make("span", "detail", plural(row.bytes, "byte") + " from " + number(row.start) + ", SHA-256 " + row.sha256.slice(0, 12)));
  const part = make("section", "part " + groupOf(row), name, preformatted(row.text));
  part.tabIndex = -1;
  return part;
}

/* The prompt with its list and its text, in a box of its own. */
function promptBox(view) {
  const rows = view.rows;
  const box = make("div", "prompt");
  const status = make("div", "status");
  status.setAttribute("role", "status");
  const list = make("nav", "list"), text = make("div", "text");
  list.setAttribute("aria-label", "Parts");
  const most = rows.reduce((largest, row) => Math.max(largest, row.tokens), 1);
  const buttons = rows.map((row) => listButton(row, most)), parts = rows.map(partOf);
  const searched = rows.map((row) =>
    [row.name, row.kind, row.origin, row.version, row.text].map(plain).join("\n").toLowerCase());
  const strip = stripOf(rows, (index) => choose(index, true));
  const rules = [];
  rows.forEach((row, index) => {
    list.append(buttons[index]);
    text.append(parts[index]);
    for (const rule of rulesAfter(view, index)) {
      rules.push(make("div", "rule", rule), make("div", "rule", rule));
      list.append(rules[rules.length - 2]);
      text.append(rules[rules.length - 1]);
    }
    buttons[index].addEventListener("click", () => choose(index, true));
    buttons[index].addEventListener("focus", () => tell(row));
    for (const one of [buttons[index], parts[index], strip.children[index]]) one.addEventListener("mouseenter", () => tell(row));
  });

  function tell(row) {
    status.replaceChildren(...said(row).flatMap((piece, index) => [index ? " \u00b7 " : "", isolated(piece)]));
  }
  function choose(index, scroll) {
    for (const old of box.querySelectorAll(".chosen")) old.classList.remove("chosen");
    for (const one of [buttons[index], parts[index], strip.children[index]]) one.classList.add("chosen");
    tell(rows[index]);
    if (scroll) parts[index].scrollIntoView({ block: "start" });
  }
  arrows(list, (button) => choose(buttons.indexOf(button), true));

  const field = make("input");
  field.type = "search"; field.placeholder = "Find by name, origin or text (/)"; field.id = "find";
  field.setAttribute("aria-label", "Find parts by name, origin or text");
  const count = make("span", "soft"), none = make("p", "soft", "No part matches the search and the boxes above. Escape clears the search.");
  count.setAttribute("role", "status");
  const legend = legendOf(rows, filter);
  function filter() {
    const wanted = field.value.toLowerCase();
    const off = new Set(Array.from(legend.querySelectorAll("input")).filter((one) => !one.checked).map((one) => one.dataset.group));
    let shown = 0;
    rows.forEach((row, index) => {
      const fits = !off.has(groupOf(row)) && searched[index].includes(wanted);
      buttons[index].hidden = parts[index].hidden = !fits;
      strip.children[index].style.opacity = fits ? "" : "0.15";
      shown += fits ? 1 : 0;
    });
    for (const rule of rules) rule.hidden = shown < rows.length;
    list.hidden = shown === 0;
    none.hidden = shown > 0;
    count.textContent = shown === rows.length ? plural(rows.length, "part") : number(shown) + " of " + plural(rows.length, "part");
  }
  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; filter(); }
    const first = buttons.find((button) => !button.hidden);
    if ((event.key === "Enter" || event.key === "ArrowDown") && first) { event.preventDefault(); first.focus(); first.click(); }
  });
  filter();

  const settings = view.settings.length
    ? make("p", "soft", view.settings.flatMap(([name, value], index) => [index ? ", " : "", isolated(name), ": ", isolated(value)])) : null;
  box.append(strip, legend, ...(settings ? [settings] : []), make("div", "search", field, count),
    none, make("div", "sides", list, text), status);
  return box;
}

function showPrompt(page, view) {
  document.title = plain(view.title) + " \u2013 deepprompt inspect";
  const hidden = view.rows.reduce((sum, row) => sum + (typeof row.text === "string" ? 0 : row.text.filter((piece) => typeof piece === "number").length), 0);
  const prefix = view.rows.slice(0, view.static).reduce((sum, row) => sum + row.tokens, 0);
  page.append(make("h1", "", isolated(view.title)),
    figures([counted(view.tokens, "token"), counted(view.bytes, "byte"), counted(view.rows.length, "part"),
      ...(view.static < view.rows.length && view.tokens ? [[percent(prefix / view.tokens), "in the static prefix"]] : []),
      counted(hidden, "hidden character")]),
    make("p", "soft", "Tokens are ", isolated(view.basis), ". ", make("span", "whole", "SHA-256"), " " + view.sha256 + "."),
    promptBox(view));
  if (view.notes.length) {
    put(page, [make("h2", "", "Notes"), view.notes.map((note) => make("p", "soft", isolated(note)))]);
  }
}
