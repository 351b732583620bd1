/* A report: what was read, written and paid over time, the causes by what they cost, and each conversation with its turns. */
const PAGE_SIZE = 100;

const moneyOf = (view, value) => {
  if (value === null) return "no price";
  const currency = plain(view.currency);
  return (currency === "USD" ? "$" : currency + " ") + value.toLocaleString("en", { minimumFractionDigits: value >= 0.1 ? 2 : 4, maximumFractionDigits: value >= 0.1 ? 2 : 4 });
};

function causeBar(view, cause, most, open) {
  const share = make("i", "full");
  share.style.width = Math.max((100 * (cause.money || cause.extra / 1e9)) / most, 0.5) + "%";
  const place = plain(cause.place) ? [" at ", isolated(cause.place)] : [];
  const details = [...pair("lost", plural(cause.lost, "token") + " in " + plural(cause.requests, "request") + " of " + plural(cause.conversations, "conversation")),
    ...(plain(cause.who) ? pair("by", isolated(cause.who)) : []), ...pair("such as", isolated(cause.example)),
    ...(plain(cause.old) || plain(cause.new) ? [...pair("was", isolated(cause.old)), ...pair("is", isolated(cause.new))] : []),
    ...(cause.advice ? pair("to do", cause.advice) : [])];
  const who = plain(cause.who) ? [make("span", "soft", " of ", isolated(cause.who))] : [];
  const source = plain(cause.source) ? [" (", isolated(cause.source), ")"] : [];
  const box = make("details", "ranked", make("summary", "", make("span", "said", make("b", "", isolated(cause.kind)), place, source, who),
    make("span", "soft", moneyOf(view, cause.money) + ", " + plural(cause.lost, "token")), make("span", "bar", share)), make("div", "cause", make("dl", "", ...details)));
  box.open = open;
  return box;
}

/* The turns of one conversation: a chart, and a table whose rows say what broke. */
function turnsBox(view, row) {
  const turns = row[9].map(([at, read, written, full, lost, cause, file, line]) => ({ at, read, written, full, lost, cause, file, line, miss: Boolean(plain(cause)) }));
  if (!turns.length) return make("p", "soft", "The requests of this conversation are not kept; deepprompt report --json has its sums.");
  const lines = turns.map((turn, index) => make("tr", turn.miss ? "miss" : "", ...[index + 1, turn.at.toFixed(0) + " s", number(turn.read), number(turn.written), number(turn.full), number(turn.lost)].map((one) => make("td", "", String(one))),
    make("td", "", turn.miss ? isolated(turn.cause) : null), make("td", "soft", isolated(view.files[turn.file]), turn.line ? ":" + turn.line : "")));
  const chosen = (index) => { lines.forEach((line, at) => line.classList.toggle("chosen", at === index)); chart.svg.choose(index); };
  const chart = chartOf(turns, { stacked: true, names: ["read", "written", "full"], of: (turn) => [turn.read, turn.written, turn.full] }, 150, "Tokens of each request. Arrow keys choose one.", chosen);
  chosen(Math.max(turns.findIndex((turn) => turn.miss), 0));
  const head = make("tr", "", ...["request", "after", "read", "written", "full", "lost", "what broke", "where"].map((name) => make("th", "", name)));
  return make("div", "opened", chart.box, make("div", "scroll", make("table", "wide steps", make("thead", "", head), make("tbody", "", lines))),
    row[10] ? make("p", "soft", plural(row[10], "more request") + " not shown.") : null);
}

function rowOf(view, row) {
  const [session, who, start, requests, input, read, lost, money, breaks] = row;
  const button = make("button", "", isolated(session));
  button.setAttribute("aria-expanded", "false");
  const line = make("tr", breaks ? "miss" : "", make("td", "", button), make("td", "", isolated(who)), make("td", "", start),
    ...[number(requests), number(input), percent(input ? read / input : 0), number(lost), moneyOf(view, money), number(breaks)].map((one) => make("td", "", one)));
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { line.nextSibling.remove(); return; }
    const cell = make("td", "", turnsBox(view, row));
    cell.colSpan = 9;
    line.after(make("tr", "inner", cell));
  });
  return line;
}

function sessionTable(view) {
  const field = make("input"), only = make("input"), count = make("span", "soft"), body = make("tbody"), more = make("button", "more", "Show more");
  field.type = "search"; field.id = "find"; field.placeholder = "Find conversations by name, agent or model"; field.setAttribute("aria-label", field.placeholder);
  only.type = "checkbox"; count.setAttribute("role", "status");
  const searched = view.rows.map((row) => (plain(row[0]) + " " + plain(row[1]) + " " + row[2]).toLowerCase());
  let found = [], shown = 0;
  const add = () => {
    for (const index of found.slice(shown, shown + PAGE_SIZE)) body.append(rowOf(view, view.rows[index]));
    shown = Math.min(shown + PAGE_SIZE, found.length);
    more.hidden = shown === found.length;
    count.textContent = number(shown) + " of " + plural(found.length, "conversation");
  };
  const filter = () => {
    const wanted = field.value.toLowerCase();
    found = view.rows.map((row, index) => index).filter((index) => (!only.checked || view.rows[index][8]) && searched[index].includes(wanted));
    shown = 0;
    body.replaceChildren();
    add();
  };
  field.addEventListener("input", filter); only.addEventListener("change", filter); more.addEventListener("click", add);
  filter();
  const head = make("tr", "", ...["conversation", "agent and model", "began", "requests", "input", "read", "lost", "cost", "breaks"].map((name) => make("th", "", name)));
  return [make("div", "search", field, make("label", "", only, " only with breaks"), count), make("div", "scroll tall", make("table", "wide named", make("thead", "", head), body)), more];
}

function showReport(page, view) {
  document.title = plain(view.title) + " \u2013 deepprompt report";
  page.append(make("h1", "", isolated(view.title)),
    make("p", "soft", "Prices of ", isolated(view.prices), ", facts of ", isolated(view.facts), ". Tokens were recorded for ", number(view.recorded), " of ", plural(view.requests, "request"), "; what was lost is simulated."),
    figures([[number(view.requests), "requests"], [number(view.conversations), "conversations"], [number(view.input), "input tokens"], [percent(view.input ? view.read / view.input : 0), "read from the cache"],
      [moneyOf(view, view.money), "for the input"], [moneyOf(view, view.lost_money), percent(view.lost_share) + " of that, paid again"]]));
  if (view.silent.length) page.append(make("p", "", make("b", "", "The API reported no cached tokens at all: "),
    ...view.silent.flatMap(([who, tokens], index) => [index ? ", " : "", plain(who) ? isolated(who) : "it", " could have read " + number(tokens)]), " (simulated). " + view.no_cache));
  if (view.timeline.length) {
    const said = make("p", "soft", "Click a column, or use the arrow keys, to see its figures.");
    const choose = (index) => { const one = view.timeline[index]; chart.svg.choose(index); said.textContent = one.at + ": " + number(one.read) + " read, " + number(one.written) + " written, " + number(one.full) + " in full, " + number(one.lost) + " lost"; };
    const chart = chartOf(view.timeline, { stacked: true, names: ["read", "written", "full"], of: (one) => [one.read, one.written, one.full] }, 240, "Tokens over time: read, written, in full. Arrow keys choose a column.", choose);
    page.append(make("h2", "", "Over time"), keyOf(["read", "read from the cache"], ["written", "written to it"], ["full", "neither: paid in full"], ["missed", "a request broke"]), chart.box, said);
  }
  const most = view.causes.reduce((largest, cause) => Math.max(largest, cause.money || cause.extra / 1e9), 1e-12);
  page.append(make("h2", "", "Causes, by what they cost"));
  if (view.causes.length) page.append(put(make("div", "causes"), view.causes.map((cause, index) => causeBar(view, cause, most, index === 0))));
  else page.append(make("p", "", "Nothing broke."));
  page.append(make("h2", "", "Conversations, those that lost most first"), ...sessionTable(view));
  if (view.unread) page.append(make("p", "soft", plural(view.unread, "line") + " of the logs could not be read."));
  if (view.assumed.length) page.append(make("h2", "", "Assumed"), make("details", "", make("summary", "", "What is assumed"), make("div", "", view.assumed.map((one) => make("p", "soft", isolated(one))))));
}
