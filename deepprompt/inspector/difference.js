/* Two prompts: their first difference, and what happened to each part. */
function lineOf([what, same, rest]) {
  const pre = make("pre", { "+": "plus", "-": "minus", gap: "gap" }[what] || "");
  pre.dir = "ltr";
  put(pre, [what === "gap" ? "\u22ef " : (what || " ") + " ", nodes(same)]);
  if (rest === undefined) return pre;
  /* From the mark on the line is another one. */
  if (plain(rest)) pre.append(make("mark", "", nodes(rest)));
  else pre.append(make("mark", "", "\u23ce"));
  return pre;
}

function changeOf(view, change) {
  const [old, now] = [view.sides[0].rows[change.old], view.sides[1].rows[change.new]];
  const row = now || old;
  const sizes = old && now && old.tokens !== now.tokens ? number(old.tokens) + " \u2192 " + number(now.tokens) + " tokens" : plural(row.tokens, "token");
  const said = [sizes.replaceAll(" ", "\u00a0")];
  if (change.status === "changed") said.push("first differs in line " + number(change.line) + ", byte " + number(change.byte) + " of the part");
  if (change.moved) said.push("moved");
  const box = make("details", groupOf(row),
    make("summary", "", make("span", "badge " + change.status, change.status), " ", isolated(row.name),
      make("span", "soft", said.join(" \u00b7 ")), plain(row.origin) ? make("span", "soft", isolated(row.origin)) : null));
  let filled = false;
  const fill = () => {
    if (filled) return;
    filled = true;
    if (change.lines) box.append(make("div", "lines", change.lines.map(lineOf)));
    else if (change.text !== undefined) box.append(make("div", "lines", preformatted(change.text)));
    else box.append(make("div", "soft", change.status === "moved" ? "The same text, in another place." : "The same text."));
  };
  box.addEventListener("toggle", fill);
  window.addEventListener("beforeprint", () => { if (change.status !== "same") { fill(); box.open = true; } });
  return { box, open: () => { fill(); box.open = true; }, change,
    searched: [row.name, row.origin, change.status].map(plain).join("\n").toLowerCase() };
}

/* Without a difference up to the end of the first, a cache that has the first serves it. */
const noneOf = ([first, second]) => first === second
  ? "There is none: all " + plural(first, "token") + " can be read from the cache (estimated)."
  : "There is none before the end of the first: " + plural(first, "token") + " can be read from the cache, " + number(second - first) + " are new (estimated).";

const coloursOf = (rows) => make("p", "legend", GROUPS.filter((group) => rows.some((row) => groupOf(row) === group))
  .map((group) => make("span", group, make("span", "swatch"), group === "none" ? "no pace" : group)));

function showDifference(page, view) {
  const [old, now] = view.sides;
  document.title = plain(view.title[0]) + " and " + plain(view.title[1]) + " \u2013 deepprompt inspect";
  const count = (status) => view.pairs.filter((one) => one.status === status).length;
  page.append(make("h1", "", isolated(view.title[0]), " \u2192 ", isolated(view.title[1])),
    figures([[number(old.tokens) + " \u2192 " + number(now.tokens), "tokens"], [number(old.bytes) + " \u2192 " + number(now.bytes), "bytes"],
      [number(count("changed")), "changed"], [number(count("added")), "added"], [number(count("removed")), "removed"],
      [number(count("moved")), "moved"], [number(count("same")), "unchanged"]]),
    make("p", "soft", "Tokens are ", isolated(now.basis), "."),
    make("h2", "", "First difference"),
    view.cause ? causeOf(view.cause) : make("div", "cause fine", noneOf(view.totals)),
    make("h2", "", "Tokens by part, before and after"), stripOf(old.rows), stripOf(now.rows), coloursOf([...old.rows, ...now.rows]), make("h2", "", "Part by part"));
  const changes = view.pairs.map((change) => changeOf(view, change));
  const field = make("input"), same = make("input"), shown = make("span", "soft"), none = make("p", "soft", "No part matches.");
  field.type = "search"; field.id = "find"; field.placeholder = "Find by name, origin or status (/)";
  field.setAttribute("aria-label", "Find parts by name, origin or status");
  same.type = "checkbox";
  same.checked = changes.every((one) => one.change.status === "same");
  shown.setAttribute("role", "status");
  const filter = () => {
    let fitting = 0;
    for (const one of changes) {
      const fits = (same.checked || one.change.status !== "same") && one.searched.includes(field.value.toLowerCase());
      one.box.hidden = !fits;
      fitting += fits ? 1 : 0;
    }
    none.hidden = fitting > 0;
    shown.textContent = number(fitting) + " of " + plural(changes.length, "part");
  };
  field.addEventListener("input", filter);
  same.addEventListener("change", filter);
  filter();
  put(page, [make("div", "search", field, make("label", "", same, " show unchanged parts"), shown), none, changes.map((one) => one.box)]);
  const first = changes.find((one) => one.change.status === "changed") || changes.find((one) => one.change.status !== "same");
  if (first) first.open();
}
