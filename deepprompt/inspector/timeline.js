/* A session: what each turn read, wrote and paid in full, how its prefix grew, and each miss with its cause. */
const WIDE = 1000;
/* With fewer turns than these, columns get no wider, and the end of the chart stays empty. */
const FEW = 16;

function scale(most) {
  const rough = Math.max(most, 1) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough), 1);
  const lines = [];
  for (let value = 0; value <= most; value += step) lines.push(value);
  return lines;
}

const short = (value) => (value >= 1e6 ? value / 1e6 + "M" : value >= 1e3 ? value / 1e3 + "k" : String(value));

/* A chart of one column a turn: its layers stand on one another, or one in front of the other. */
function chartOf(turns, layers, height, label, choose) {
  const bottom = 18, top = 12;
  const tops = turns.map((turn) => layers.stacked ? layers.of(turn).reduce((sum, one) => sum + one, 0) : Math.max(...layers.of(turn)));
  const most = tops.reduce((largest, one) => Math.max(largest, one), 1), step = WIDE / Math.max(turns.length, FEW);
  const y = (value) => height - bottom - (value / most) * (height - bottom - top);
  const svg = draw("svg", { class: "chart" + (height < 200 ? " low" : ""), viewBox: "0 0 " + WIDE + " " + height, preserveAspectRatio: "none", role: "img", "aria-label": label, tabindex: "0" });
  /* Letters are put beside the chart, not into it: the chart is stretched to the width that there is. */
  const box = make("div", "plot", svg);
  for (const value of scale(most)) {
    svg.append(draw("line", { class: "grid", x1: 0, x2: WIDE, y1: y(value), y2: y(value), "vector-effect": "non-scaling-stroke" }));
    const mark = make("span", "soft", short(value));
    mark.style.right = "calc(100% - 36px)";
    mark.style.top = "calc(" + (100 * y(value)) / height + "% - 6px)";
    box.append(mark);
  }
  const every = scale(turns.length)[1] || 1;
  let written = "";
  turns.forEach((turn, index) => {
    const x = index * step, wide = Math.max(step - (step > 4 ? Math.max(1.5, step / 16) : 0), 0.4);
    let base = 0;
    layers.of(turn).forEach((value, layer) => {
      if (value > 0) svg.append(draw("rect", { class: layers.names[layer], x, width: wide, y: y(base + value), height: y(base) - y(base + value) }));
      if (layers.stacked) base += value;
    });
    if (turn.miss && layers.stacked) svg.append(draw("rect", { class: "missed", x, width: Math.max(wide, 2), y: 1, height: 5 }));
    const labelled = turn.tick ? index % Math.ceil(every) === 0 && turn.tick !== written : index === 0 || (index + 1) % Math.ceil(every) === 0;
    if (labelled) {
      written = turn.tick;
      const mark = make("span", "soft", turn.tick || number(index + 1));
      const part = (x + wide / 2) / WIDE;
      mark.style.left = "calc(42px + (100% - 42px) * " + part + ")";
      mark.style.bottom = "3px";
      /* A label at an edge stays inside the chart. */
      mark.style.transform = "translateX(" + -100 * (turn.tick ? part : 0.5) + "%)";
      box.append(mark);
    }
  });
  const cursor = draw("rect", { class: "cursor", x: 0, y: 0, width: Math.max(step, 2), height: height - bottom, "vector-effect": "non-scaling-stroke" });
  cursor.setAttribute("visibility", "hidden");
  svg.append(cursor);
  const at = (event) => {
    const seen = svg.getBoundingClientRect();
    const index = Math.floor((((event.clientX - seen.left) / seen.width) * WIDE) / step);
    return Math.min(Math.max(index, 0), turns.length - 1);
  };
  svg.addEventListener("click", (event) => choose(at(event)));
  svg.addEventListener("mousemove", (event) => { if (event.buttons === 1) choose(at(event)); });
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -turns.length, End: turns.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(Math.min(Math.max(svg.chosen + by, 0), turns.length - 1));
  });
  svg.chosen = -1;
  svg.choose = (index) => { svg.chosen = index; cursor.setAttribute("x", index * step); cursor.setAttribute("visibility", "visible"); };
  return { box, svg };
}

const keyOf = (...entries) =>
  make("p", "legend key", ...entries.map(([name, said]) => make("span", "", make("i", name), said)));

function turnBox(turn, index) {
  const facts = [];
  if (turn.label !== undefined) facts.push(...pair("what", isolated(turn.label)));
  if (turn.at !== undefined) facts.push(...pair("at", number(Math.round(turn.at)) + " s"));
  facts.push(...pair("simulated", number(turn.read) + " read, " + number(turn.written) + " written, " + number(turn.full) + " in full"));
  if (plain(turn.why)) facts.push(...pair("why", isolated(turn.why)));
  if (!turn.cause) facts.push(...pair("begins with", number(turn.kept) + " tokens of the request before it"));
  if (turn.recorded) {
    const told = turn.recorded;
    facts.push(...pair("recorded", number(told.read) + " read, " + number(told.written) + " written, " + number(told.full) + " in full"));
    if (plain(told.kind)) facts.push(...pair("verdict", isolated(told.kind), ": ", isolated(told.detail)));
  }
  const box = make("div", "cause" + (turn.miss ? "" : " fine"), make("b", "", "Turn " + (index + 1)), make("dl", "", ...facts));
  return turn.cause ? [box, causeOf(turn.cause)] : [box];
}

const reasonOf = (turn) => {
  /* What the simulation says beside where they differ, such as that an entry has expired. */
  const besides = plain(turn.why).split("; ").slice(0, -1).join("; ");
  if (turn.cause) return make("span", "", make("b", "", turn.cause.kind), ": ", placeOf(turn.cause), besides ? make("span", "soft", "; ", isolated(besides)) : null);
  const told = turn.recorded && plain(turn.recorded.kind) ? turn.recorded : null;
  if (told && !["hit", "cold start"].includes(plain(told.kind))) return make("span", "", make("b", "", isolated(told.kind)), ": ", isolated(told.detail));
  return isolated(turn.why);
};

function showSession(page, view) {
  const turns = view.turns;
  document.title = plain(view.title) + " \u2013 deepprompt inspect";
  const misses = turns.filter((turn) => turn.miss).length;
  page.append(make("h1", "", isolated(view.title)),
    make("p", "soft", "By the rules of ", isolated(view.provider), ", ", isolated(view.model), ", facts of ", isolated(view.facts), ". Tokens are ", isolated(view.last.basis), "."),
    figures([counted(turns.length, "request"), counted(view.input, "input token"), [percent(view.read_share), "read from the cache after the first"],
      [view.price === null ? "-" : view.price.toFixed(3), "of the price without a cache"], [number(misses), misses === 1 ? "miss" : "misses"],
      ...(view.recorded ? [counted(view.recorded, "recorded response")] : [])]));

  const source = make("select");
  source.setAttribute("aria-label", "Which tokens are drawn");
  for (const [value, said] of [["simulated", "as simulated"], ["recorded", "as recorded"]]) {
    const option = make("option", "", said);
    option.value = value;
    source.append(option);
  }
  const holder = make("div"), detail = make("div", "detail"), charts = [];
  detail.setAttribute("aria-live", "polite");
  let chosen = Math.max(turns.findIndex((turn) => turn.miss), 0);
  const rows = turns.map((turn, index) => {
    const button = make("button", "", String(index + 1));
    button.addEventListener("click", () => choose(index));
    const row = make("tr", turn.miss ? "miss" : "", make("td", "", button),
      ...[turn.read + turn.written + turn.full, turn.read, turn.written, turn.full].map((value) => make("td", "", number(value))),
      make("td", "", reasonOf(turn)));
    return row;
  });
  function choose(index) {
    rows[chosen].classList.remove("chosen");
    chosen = index;
    rows[index].classList.add("chosen");
    for (const chart of charts) chart.svg.choose(index);
    detail.replaceChildren(...turnBox(turns[index], index));
  }
  function redraw() {
    const told = (turn) => (source.value === "recorded" ? turn.recorded || { read: 0, written: 0, full: 0 } : turn);
    charts.length = 0;
    charts.push(
      chartOf(turns, { stacked: true, names: ["read", "written", "full"], of: (turn) => [told(turn).read, told(turn).written, told(turn).full] }, 240,
        "Tokens of each request: read, written, in full. Arrow keys choose a turn.", choose),
      chartOf(turns, { stacked: false, names: ["total", "kept"], of: (turn) => [turn.read + turn.written + turn.full, turn.kept] }, 150,
        "How much of each request begins like the one before it. Arrow keys choose a turn.", choose));
    holder.replaceChildren(keyOf(["read", "read from the cache"], ["written", "written to it"], ["full", "paid in full"], ["missed", "a miss"]), charts[0].box,
      make("h2", "", "How the prefix grows"), keyOf(["kept", "begins like the request before"], ["total", "the rest of the request"]), charts[1].box);
    choose(chosen);
  }
  source.addEventListener("change", redraw);
  if (view.doubts.length) page.append(make("h2", "", "This log was altered or damaged"), ...view.doubts.map((one) => make("p", "", isolated(one))));
  page.append(make("h2", "", "Input tokens, turn by turn"));
  if (view.recorded) page.append(make("p", "", make("label", "", "Tokens ", source)));
  page.append(holder, make("h2", "", "Selected turn"), detail);

  const only = make("input"), field = make("input"), count = make("span", "soft"), none = make("p", "soft", "No turn matches.");
  only.type = "checkbox"; only.checked = misses > 0;
  field.type = "search"; field.placeholder = "Find turns by cause or place"; field.setAttribute("aria-label", "Find turns by cause or place");
  count.setAttribute("role", "status");
  const searched = rows.map((row) => row.textContent.toLowerCase());
  const filter = () => {
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = (only.checked && !turns[index].miss) || !searched[index].includes(field.value.toLowerCase());
      shown += row.hidden ? 0 : 1;
    });
    none.hidden = shown > 0;
    count.textContent = number(shown) + " of " + plural(rows.length, "turn");
  };
  only.addEventListener("change", filter);
  field.addEventListener("input", filter);
  filter();
  const head = make("tr", "", ...["turn", "input", "read", "written", "full", "why not more was read"].map((name) => make("th", "", name)));
  page.append(make("h2", "", "Turns and causes"), make("div", "search", field, make("label", "", only, " only misses"), count), none,
    make("div", "scroll", make("table", "turns", make("thead", "", head), make("tbody", "", rows))));
  page.append(make("h2", "", "The last request"), make("p", "soft", plural(view.last.tokens, "token") + ", " + plural(view.last.bytes, "byte") + "."), promptBox(view.last));
  if (view.assumed.length) {
    const assumed = make("details", "", make("summary", "", "What the simulation assumes"), make("div", "", view.assumed.map((one) => make("p", "soft", isolated(one)))));
    page.append(make("h2", "", "Assumptions"), assumed);
  }
  redraw();
}
