// The list of values and records of a document.

import { button, element, quoted, visible } from "./elements.js";

/**
 * Shows the values. Dispatches `over`, `current` (both with an id) and `act` with { name, id }.
 *
 * `names` are suggested for values. `records` resolves with a map from known records to the names of their values.
 */
export class Panel extends EventTarget {
  #editing = "";

  constructor(review, names, records) {
    super();
    this.review = review;
    this.names = names;
    this.records = records;
    this.current = "";
    this.root = element("section.panel", { "aria-label": "Values" });
    review.addEventListener("change", () => this.draw());
    this.root.addEventListener("pointerover", (event) =>
      this.#over(event.target.closest("li.value")?.dataset.id ?? null),
    );
    this.root.addEventListener("pointerleave", () => this.#over(null));
    this.root.addEventListener("focusin", (event) => {
      const id = event.target.closest("li.value")?.dataset.id;
      if (id && id !== this.current) this.#choose(id);
    });
  }

  /** Ids of the values in the order in which they are shown. */
  get ids() {
    return [...this.root.querySelectorAll("li.value")].map((row) => row.dataset.id);
  }

  /** Make a value the current one and put the focus on it. */
  focus(id) {
    if (!id) return;
    this.#choose(id);
    const row = this.#row(id);
    row?.querySelector(".main, input")?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  /** The value after the current one that needs a look; "" if there is none. */
  nextOpen() {
    const ids = this.ids;
    const start = ids.indexOf(this.current) + 1;
    const order = [...ids.slice(start), ...ids.slice(0, start)];
    return order.find((id) => this.review.needsLook(this.review.value(id))) ?? "";
  }

  /** The value `by` places after the current one. */
  step(by) {
    const ids = this.ids;
    const next = ids.indexOf(this.current) + by;
    this.focus(ids[Math.min(Math.max(next, 0), ids.length - 1)]);
  }

  mark(id) {
    for (const row of this.root.querySelectorAll("li.value")) row.classList.toggle("marked", row.dataset.id === id);
  }

  /** Type over a value. */
  edit(id) {
    this.#editing = id;
    this.draw();
    this.#row(id).querySelector("input").select();
  }

  /** Show the text of words while they are chosen; null when no more. */
  preview(id, text) {
    const shown = this.#row(id)?.querySelector(".text");
    if (shown)
      shown.textContent = text === null ? visible(this.review.value(id).text) : visible(text) || "choose words";
  }

  draw() {
    const hadFocus = this.root.contains(document.activeElement) && !this.#editing;
    const kept = this.review.listed.filter((value) => value.state !== "removed" || this.review.said[value.id]);
    const loose = kept.filter((value) => !value.row);
    const rows = [...new Set(kept.filter((value) => value.row).map((value) => value.row))];
    const removed = kept.filter((value) => value.state === "removed").length;
    this.root.replaceChildren(
      element("h2", "Values"),
      loose.length
        ? element("ul", loose.map((value) => this.#value(value)))
        : element("p", "The model has found no value."),
      this.#adder(),
      ...this.#records(rows, kept),
      this.#recordAdder(),
      removed ? element("p.note", `${removed} removed: these are no truth, and can be restored.`) : "",
    );
    if (hadFocus) this.#row(this.current)?.querySelector(".main")?.focus({ preventScroll: true });
  }

  #row(id) {
    return [...this.root.querySelectorAll("li.value")].find((row) => row.dataset.id === id);
  }

  #choose(id) {
    this.current = id;
    for (const row of this.root.querySelectorAll("li.value")) row.classList.toggle("current", row.dataset.id === id);
    this.dispatchEvent(new CustomEvent("current", { detail: id }));
  }

  #over(id) {
    this.dispatchEvent(new CustomEvent("over", { detail: id }));
  }

  #act(name, id, more = {}) {
    this.dispatchEvent(new CustomEvent("act", { detail: { name, id, ...more } }));
  }

  #value(value) {
    const said = this.review.said[value.id];
    const state = stateOf(value, said);
    const current = value.id === this.current ? ".current" : "";
    const content = this.#editing === value.id ? this.#input(value) : this.#main(value, said, state);
    return element(`li.value.${state.name}${current}`, { "data-id": value.id }, content, this.#actions(value));
  }

  #main(value, said, state) {
    const changed = said && said.text !== value.text && value.state !== "removed";
    return element(
      "button.main",
      { type: "button", onclick: () => this.focus(value.id) },
      quoted(value.name, { class: "name" }),
      quoted(value.text || "no text", { class: value.text ? "text" : "text missing" }),
      changed ? element("span.was", "read as ", quoted(said.text)) : "",
      said?.stated ? element("span.was.stated", statedText(said.stated)) : "",
      said ? confidence(said) : "",
      element(
        "span.state",
        element("span.sign", { "aria-hidden": "true" }, state.sign),
        element("span.meaning", state.text),
      ),
    );
  }

  #input(value) {
    const about = { "aria-label": `Value of ${value.name}`, dir: "auto", maxlength: 10000 };
    const input = element("input", { value: value.text, ...about });
    const end = (text) => {
      if (this.#editing !== value.id) return;
      this.#editing = "";
      if (text !== null && text !== value.text) this.#act("type", value.id, { text });
      this.draw();
      this.focus(value.id);
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") end(input.value);
      else if (event.key === "Escape") end(null);
      else return;
      event.preventDefault();
    });
    input.addEventListener("blur", () => end(input.value));
    return element("div.main", quoted(value.name, { class: "name" }), input);
  }

  #actions(value) {
    const act = (name) => () => this.#act(name, value.id);
    const label = (text) => ({ "aria-label": `${text} ${value.name}`, title: text });
    if (value.state === "removed") return element("div.actions", button("Restore", act("restore"), label("Restore")));
    const { by, text } = this.review.said[value.id]?.stated ?? {};
    return element(
      "div.actions",
      button("Confirm", act("confirm"), { ...label("Confirm"), disabled: value.state === "confirmed" }),
      text ? button("Take", act("take"), label(`Take the value of ${visible(by)} for`)) : "",
      button("Type", act("edit"), label("Type over")),
      button("Words", act("words"), label("Choose the words of")),
      button("Remove", act("remove"), label("Remove")),
    );
  }

  #adder(row = "", label = "Add a value") {
    const about = row ? `Name of a value to add to ${row}` : "Name of a value to add";
    const add = (value) => this.#act("add", "", { value, row });
    const id = `names-${row || "document"}`.replaceAll(/\W/g, "-");
    return adder({ id, about, placeholder: "name", suggest: () => this.names, label, add });
  }

  #recordAdder() {
    return adder({
      id: "names-of-records",
      about: "Name of a record to add",
      placeholder: "name of a record",
      suggest: async () => (await this.records()).keys(),
      label: "Add a record",
      add: (value) => this.#act("add-record", "", { value }),
    });
  }

  #records(rows, values) {
    const names = [...new Set(rows.map(nameOfRow))];
    return names.map((name) => {
      const own = rows.filter((row) => nameOfRow(row) === name);
      return element(
        "section.records",
        { "aria-label": `Records ${name}` },
        element("h2", quoted(name)),
        own.map((row, index) => this.#record(row, index + 1, values.filter((value) => value.row === row))),
        button("Add a row", () => this.#act("add-row", "", { row: own.at(-1) })),
      );
    });
  }

  #record(row, number, values) {
    const isRemoved = values.every((value) => value.state === "removed");
    const label = { class: "quiet", "aria-label": `Remove row ${number}` };
    const remover = button("Remove row", () => this.#act("remove-row", "", { row }), label);
    return element(
      `section.record${isRemoved ? ".removed" : ""}`,
      { "aria-label": `${nameOfRow(row)} ${number}` },
      element("header", element("h3", `${number}`), isRemoved ? "" : remover),
      element("ul", values.map((value) => this.#value(value))),
      this.#adder(row, "Add"),
    );
  }
}

/** A form that adds what a person names; `suggest` gives names that are known. */
function adder({ id, about, placeholder, suggest, label, add }) {
  const names = element("datalist", { id });
  const fill = async () =>
    names.replaceChildren(...[...(await suggest())].map((value) => element("option", { value })));
  const input = element("input", { list: id, placeholder, "aria-label": about, maxlength: 200, onfocus: fill });
  const submit = (event) => {
    event.preventDefault();
    if (input.value.trim()) add(input.value.trim());
  };
  return element("form.adder", { onsubmit: submit }, input, names, element("button", { type: "submit" }, label));
}

/** The name of the record in `NAME/PAGE/NUMBER`. */
function nameOfRow(row) {
  return row.split("/").slice(0, -2).join("/");
}

/** What another model has stated in place of a value. */
function statedText({ by, text }) {
  return [quoted(by), text ? ": " : ": no such value", text ? quoted(text) : ""];
}

function confidence({ confidence: share, accepted }) {
  const percent = Math.floor(share * 100);
  const meter = element("meter", { min: 0, max: 100, value: percent, "aria-hidden": "true" });
  const title = accepted ? "accepted: no look needed" : "not accepted";
  return element("span.confidence", { title }, meter, `${percent} %`);
}

function stateOf(value, said) {
  if (value.state === "removed") return { name: "removed", sign: "×", text: "removed" };
  if (!said) return { name: "confirmed", sign: "+", text: "added" };
  if (value.state === "confirmed") {
    return said.text === value.text && said.name === value.name && String(said.words) === String(value.words)
      ? { name: "confirmed", sign: "✓", text: "confirmed" }
      : { name: "confirmed", sign: "✎", text: "corrected" };
  }
  if (value.state === "rejected") return { name: "open", sign: "×", text: "wrong: correct or remove it" };
  if (said.sampled) return { name: "open", sign: "?", text: "sample of accepted" };
  return said.accepted
    ? { name: "accepted", sign: "✓", text: "accepted" }
    : { name: "open", sign: "?", text: "needs a look" };
}
