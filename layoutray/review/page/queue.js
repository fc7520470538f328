// The queue: which documents there are, filters, and how far the review is.

import * as api from "./api.js";
import { copied } from "./dialogs.js";
import { button, element, quoted, visible } from "./elements.js";

const STATES = [
  ["open", "to look at"],
  ["accepted", "accepted"],
  ["done", "finished"],
  ["", "all"],
];
const AT_ONCE = 100;
const SENT_AT_ONCE = 3;

/** Show the queue in `main`. */
export async function showQueue(main, filters, session) {
  const query = new URLSearchParams({ state: "open", limit: AT_ONCE, ...Object.fromEntries(filters) });
  const [answer, promises] = await Promise.all([api.get(`/review/documents?${query}`), api.get("/review/promises")]);
  main.replaceChildren(
    element(
      "div.queue",
      session.uploads ? dropArea() : "",
      element("h1", "Queue"),
      progress(answer.progress),
      promised(promises),
      changed(query),
      filterForm(query, answer.progress),
      table(answer.documents),
      pager(query, answer),
      teaching(answer.progress, session.commands),
    ),
  );
}

function progress({ states, looks, sample, sample_left }) {
  const total = Object.values(states).reduce((sum, count) => sum + count, 0);
  const { done = 0, accepted = 0 } = states;
  const max = Math.max(total, 1);
  return element(
    "div.progress",
    element(
      "p",
      element("strong", `${done} of ${total} finished`),
      accepted ? `, ${accepted} need no look` : "",
      `, ${counted(looks, "value")} to look at`,
      looks ? element("a.questions-link", { href: "#/questions" }, "Yes or no, value by value") : "",
    ),
    element("progress", { max, value: done + accepted, "aria-label": "Documents that need no more work" }),
    sample.count || sample_left ? element("p.sample", measured(sample, sample_left)) : "",
  );
}

/** What is promised of accepted values, and what would raise it. */
function promised(promises) {
  if (!promises.length) return "";
  const lines = promises.map((text) => element("li", visible(text)));
  return element("details.promises", element("summary", "Promises"), element("ul", lines));
}

/** Whether documents have changed, what shows it, and pictures of the documents to label first. */
function changed(query) {
  const place = element("section.changed", { "aria-label": "Changed documents" });
  api.get("/review/drift").then(({ since, signals, documents }) => {
    if (!documents?.length) return;
    place.append(
      element("h2", `Documents have changed since about ${moment(since)}`),
      element("p", "These show it most, and come first in the queue: label them, and train on them."),
      element("ul", signals.map(({ signal, before, since: now }) =>
        element("li", visible(signal), `: median ${short(now)}, before ${short(before)}`))),
      element("div.pictures", documents.map(card)),
    );
    return api.get(`/review/documents?${query}`); // has them first from now on
  }).then((answer) => {
    if (answer) place.parentNode?.querySelector("table.documents")?.replaceWith(table(answer.documents));
  }).catch((error) => place.append(element("p", error.message)));
  return place;
}

function card({ number, name, signals }) {
  const unlike = Object.entries(signals).slice(0, 3).map(([signal, value]) => `${signal} ${short(value)}`);
  return element(
    "a",
    { href: `#/document/${number}` },
    element("img", { src: `/review/documents/${number}/pages/1/picture?width=320`, alt: "", loading: "lazy" }),
    element("span", quoted(name)),
    element("small", visible(unlike.join(", "))),
  );
}

function short(number) {
  return Number(number.toPrecision(3)).toLocaleString();
}

/** The precision of accepted values, as the sample shows it. */
function measured({ right, count, low, high }, left) {
  const percent = (share) => `${Math.round(share * 1000) / 10} %`;
  const bounds = `(95 % interval ${percent(low)} to ${percent(high)})`;
  const waiting = left ? ` ${left} more of the sample wait.` : "";
  if (!count) return `Sample of the accepted values: ${left} wait for a look.`;
  return `Sample of the accepted values: ${right} of ${count} are right ${bounds}.${waiting}`;
}

function filterForm(query, { names, versions }) {
  const select = (name, label, options) => {
    const shown = options.map(([value, text]) =>
      element("option", { value, selected: query.get(name) === value }, visible(text)),
    );
    return element("label", label, element("select", { name }, shown));
  };
  const any = ["", "any"];
  const shares = [50, 80, 90, 95, 99].map((share) => [String(share / 100), `below ${share} %`]);
  const form = element(
    "form.filters",
    { "aria-label": "Filters" },
    select("state", "State", STATES),
    select("field", "Field", [any, ...names.map((name) => [name, name])]),
    select("below", "Confidence", [any, ...shares]),
    versions.length > 1 ? select("version", "Model version", [any, ...versions.map((one) => [one, one])]) : "",
  );
  form.addEventListener("change", () => {
    const chosen = [...new FormData(form)].filter(([name, value]) => value || name === "state");
    location.hash = `#/?${new URLSearchParams(chosen)}`;
  });
  return form;
}

function table(documents) {
  if (!documents.length) return element("p.empty", "No document is in this list.");
  const heading = [
    ["th", "document"],
    ["th", "state"],
    ["th.number", "to look at"],
    ["th.number", "expected wrong"],
    ["th.model", "model"],
    ["th.last", "last change"],
  ].map(([tag, text]) => element(tag, { scope: "col" }, text));
  return element(
    "table.documents",
    element("thead", element("tr", heading)),
    element("tbody", documents.map(row)),
  );
}

function row({ number, name, state, looks, doubt, model, changed, reviewer }) {
  const shown = STATES.find(([value]) => value === state)?.[1] ?? state;
  const open = state === "open";
  return element(
    "tr",
    element("td", element("a", { href: `#/document/${number}` }, quoted(name))),
    element("td", element(`span.badge.${state}`, shown)),
    element("td.number", open ? looks : ""),
    element("td.number", open ? doubt.toFixed(2) : ""),
    element("td.model", quoted(model)),
    element("td.last", changed ? quoted(reviewer) : "", changed ? ` ${moment(changed)}` : ""),
  );
}

function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

function pager(query, { count, documents }) {
  const offset = Number(query.get("offset") ?? 0);
  const move = (to) => () => {
    query.set("offset", to);
    query.delete("limit");
    location.hash = `#/?${query}`;
  };
  if (count <= AT_ONCE) return "";
  return element(
    "nav.pager",
    { "aria-label": "Pages of the list" },
    button("Before", move(Math.max(offset - AT_ONCE, 0)), { disabled: !offset }),
    ` ${offset + 1} to ${offset + documents.length} of ${count} `,
    button("Next", move(offset + AT_ONCE), { disabled: offset + documents.length >= count }),
  );
}

function teaching({ corrections, states }, commands) {
  const made = counted(corrections, "correction");
  const finished = counted(states.done ?? 0, "finished document");
  return element(
    "section.teaching",
    { "aria-label": "Training" },
    element("h2", "Teach the model"),
    element(
      "p",
      `${made} since the latest version of the model; ${finished}. `,
      element("a", { href: "/review/reviewed.jsonl", download: "reviewed.jsonl" }, "Download what was reviewed"),
    ),
    commands.length ? element("details", element("summary", "Commands that train on them"), commands.map(copied)) : "",
  );
}

function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function dropArea() {
  const accept = ".pdf,.png,.jpg,.jpeg,.tif,.tiff";
  const input = element("input", { type: "file", id: "file", accept, multiple: true });
  const state = element("p", { role: "status" });
  const label = element("label", { for: "file" }, "Drop scans or PDFs here, or choose files ");
  const area = element("div.drop", element("p", label, input), state);
  input.addEventListener("change", () => send([...input.files], state));
  area.addEventListener("dragover", (event) => {
    event.preventDefault();
    area.classList.add("over");
  });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    send([...event.dataTransfer.files], state);
  });
  return area;
}

/** Send the files, some at once; opens the document if it is one, and shows what was refused. */
async function send(files, state) {
  const problems = [];
  const waiting = [...files];
  let last = 0;
  let done = 0;
  const tell = () => (state.textContent = `Reading ${files.length - done} of ${files.length} …`);
  const sendNext = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      try {
        last = (await api.upload("/review/documents", file)).number;
      } catch (error) {
        problems.push(`${visible(file.name)}: ${error.message}`);
      }
      done++;
      tell();
    }
  };
  tell();
  await Promise.all(Array.from({ length: SENT_AT_ONCE }, sendNext));
  state.textContent = problems.join("; ");
  if (problems.length || !state.isConnected) return; // the person has gone to another view
  if (files.length === 1) location.hash = `#/document/${last}`;
  else dispatchEvent(new HashChangeEvent("hashchange"));
}
