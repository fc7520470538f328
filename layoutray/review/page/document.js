// The view of one document: pages on one side, values on the other.

import * as api from "./api.js";
import { Choosing } from "./choosing.js";
import { resolve } from "./conflict.js";
import { askForNames, askForState, showHistory } from "./dialogs.js";
import { announce, button, element, quoted } from "./elements.js";
import { commandOf, showKeys } from "./keys.js";
import { nextKind, toggleBoundary } from "./packet.js";
import { Pages } from "./pages.js";
import { Panel } from "./panel.js";
import { queueQuery } from "./route.js";
import { Review } from "./review.js";
import { Saver } from "./saving.js";
import { stating } from "./shapes.js";

/**
 * Show a document in `main`. Returns a function that ends the view.
 *
 * `correct` is the id of a value to correct, after which the questions go on; "" for none.
 */
export async function showDocument(main, number, tell, correct = "") {
  const [document_, queue] = await Promise.all([
    api.get(`/review/documents/${number}`),
    api.get("/review/documents?limit=1"),
  ]);
  const view = new DocumentView(document_, queue.progress.names, tell, correct);
  main.replaceChildren(view.root);
  view.start();
  return () => view.close();
}

/** Commands that move the pages, or end the choice of words themselves. */
const WHILE_CHOOSING = new Set(["page-down", "page-up", "zoom-in", "zoom-out", "fit", "rotate", "finish"]);

class DocumentView {
  #choosing = null;
  #stop = new AbortController();

  constructor(document_, names, tell, correct) {
    this.document = document_;
    this.correct = correct;
    this.review = new Review(document_);
    this.pages = new Pages(document_, this.review);
    this.panel = new Panel(this.review, names, () => this.#records());
    this.saver = new Saver(this.review, { tell, resolve });
    this.commands = this.#commands();
    this.side = element("div.side", this.#finisher(), this.panel.root);
    this.root = element("div.document", this.#toolbar(), this.pages.scroller, this.side);
    this.#link();
  }

  async start() {
    this.panel.draw();
    this.#refresh();
    this.pages.fit();
    await this.saver.resume();
    this.panel.focus(this.correct || this.panel.nextOpen() || this.panel.ids[0]);
  }

  close() {
    this.#stop.abort();
    this.pages.close();
    return this.saver.flush();
  }

  /** Hover and focus on one side show the value on the other. */
  #link() {
    this.pages.addEventListener("over", ({ detail }) => this.panel.mark(detail));
    this.pages.addEventListener("pick", ({ detail }) => this.panel.focus(detail));
    this.panel.addEventListener("over", ({ detail }) => this.pages.mark(detail ?? this.panel.current));
    this.panel.addEventListener("current", ({ detail }) => this.pages.mark(detail, true));
    this.panel.addEventListener("act", ({ detail }) => this.#act(detail));
    this.review.addEventListener("change", () => this.#refresh());
    addEventListener("keydown", (event) => this.#key(event), { signal: this.#stop.signal });
    addEventListener("resize", () => this.pages.fit(), { signal: this.#stop.signal });
  }

  #key(event) {
    if (this.#choosing && !event.ctrlKey && !event.target.matches?.("input, button:not(.main)")) {
      if (this.#choosing.key(event)) {
        event.preventDefault();
        return;
      }
    }
    const command = commandOf(event);
    if (!(command in this.commands) || (this.#choosing && !WHILE_CHOOSING.has(command))) return;
    event.preventDefault();
    this.commands[command]();
  }

  #commands() {
    const { review, panel, pages } = this;
    const current = () => review.value(panel.current);
    return {
      confirm: () => this.#confirm(panel.current),
      down: () => panel.step(1),
      up: () => panel.step(-1),
      edit: () => current() && panel.edit(panel.current),
      words: () => current() && this.#choose(panel.current),
      take: () => this.#take(panel.current),
      remove: () =>
        current() && this.#act({ name: current().state === "removed" ? "restore" : "remove", id: panel.current }),
      undo: () => review.undo(),
      redo: () => review.redo(),
      "focus-adder": () => panel.root.querySelector(".adder input").focus(),
      "focus-record-adder": () => panel.root.querySelector("[list=names-of-records]").focus(),
      boundary: () => panel.focus(toggleBoundary(review, pages.inView)),
      kind: () => panel.focus(nextKind(review, pages.inView)),
      "page-down": () => pages.step(1),
      "page-up": () => pages.step(-1),
      "zoom-in": () => pages.zoomIn(),
      "zoom-out": () => pages.zoomOut(),
      fit: () => pages.fit(),
      rotate: () => pages.rotate(),
      boxes: () => pages.showWords(!pages.showsWords),
      history: () => this.#history(),
      finish: () => this.#finish(),
      queue: () => (location.hash = this.correct ? "#/questions" : `#/${queueQuery()}`),
    };
  }

  #act({ name, id, text, value, row }) {
    if (name === "confirm") this.#confirm(id);
    else if (name === "take") this.#take(id);
    else if (name === "edit") this.panel.edit(id);
    else if (name === "words") this.#choose(id);
    else if (name === "type") this.#type(id, text);
    else if (name === "restore") this.review.confirm(id);
    else if (name === "remove") this.review.remove([id]);
    else if (name === "remove-row")
      this.review.remove(this.review.values.filter((one) => one.row === row).map((one) => one.id));
    else if (name === "add") this.#choose(this.review.add([value], row)[0]);
    else if (name === "add-row") this.panel.focus(this.review.addRow(row)[0]);
    else if (name === "add-record") this.#addRecord(value);
  }

  /** The names of the values of each record that a model has answered; asked for once. */
  #records() {
    this.known ??= api.get("/review/records").then(
      (records) => new Map(Object.entries(records)),
      () => new Map(),
    );
    return this.known;
  }

  /** Add a record on the page in view, with the values that records of this name have in other documents. */
  async #addRecord(record) {
    const names = (await this.#records()).get(record) ?? (await askForNames(record));
    if (names.length) this.panel.focus(this.review.addRecord(record, this.pages.inView, names)[0]);
  }

  #confirm(id) {
    const value = this.review.value(id);
    if (!value) return;
    if (id === this.correct) {
      location.hash = "#/questions"; // a value that is still rejected stays so
      return;
    }
    if (value.state !== "removed") this.review.confirm(id);
    const next = this.panel.nextOpen();
    if (next) this.panel.focus(next);
    else {
      this.side.querySelector(".finish").focus();
      announce("No value needs a look. Enter finishes the document.");
    }
  }

  /** Take over what a person has typed. If it stands elsewhere on the page of a wrong answer, it has the words there. */
  #type(id, text) {
    const { page, words } = this.review.value(id);
    const found = words.length ? stating(text, this.pages.loadedWords(page) ?? [], words[0]) : [];
    this.review.set(id, found.length ? { text, words: found } : { text });
  }

  /** Take over what another model has stated, if there is anything. */
  #take(id) {
    const { text, page, words } = this.review.said[id]?.stated ?? {};
    if (!text) return;
    this.review.set(id, { text, page, words });
    this.panel.focus(this.panel.nextOpen() || id);
  }

  /** Choose the words of a value on the page. */
  async #choose(id) {
    this.#choosing?.giveUp();
    this.panel.focus(id);
    const value = this.review.value(id);
    const page = value.page ?? this.pages.inView;
    await this.pages.words(page);
    const hadWords = this.pages.showsWords;
    this.pages.showWords(true);
    const done = (chosen) => {
      this.#choosing = null;
      this.pages.showWords(hadWords);
      this.tools.replaceChildren();
      if (chosen) this.review.set(id, chosen);
      this.panel.preview(id, null);
      this.panel.focus(id);
    };
    const changed = (text) => this.panel.preview(id, text);
    this.#choosing = new Choosing(this.pages, { page, words: value.words, done, changed });
    this.#showTools();
    this.pages.scroller.focus();
    announce(`Choose the words of ${value.name}. Arrows move, Shift extends, Space chooses, Enter accepts.`);
  }

  #showTools() {
    const choosing = this.#choosing;
    const turn = () => {
      choosing.lasso = !choosing.lasso;
      lasso.setAttribute("aria-pressed", choosing.lasso);
    };
    const lasso = button("Lasso", turn, { "aria-pressed": false });
    this.tools.replaceChildren(
      element("span", "Click words, or drag around them."),
      lasso,
      button("Accept", () => choosing.accept(), { class: "primary" }),
      button("Cancel", () => choosing.giveUp()),
    );
  }

  #toolbar() {
    const run = (name) => () => this.commands[name]();
    const tool = (text, name, label) => button(text, run(name), { "aria-label": label, title: label });
    this.undo = tool("↶", "undo", "Undo");
    this.redo = tool("↷", "redo", "Redo");
    this.tools = element("div.tools", { role: "group", "aria-label": "Choose words" });
    const { name, model, pages } = this.document;
    const many = pages.length > 1;
    return element(
      "div.toolbar",
      { role: "toolbar", "aria-label": "Document" },
      element("h1", quoted(name)),
      element("span.note", quoted(model), many ? ` · ${pages.length} pages` : ""),
      element("div.group", this.undo, this.redo),
      element(
        "div.group",
        tool("−", "zoom-out", "Zoom out"),
        tool("⤢", "fit", "Whole width"),
        tool("+", "zoom-in", "Zoom in"),
        tool("⟳", "rotate", "Rotate"),
        tool("▦", "boxes", "Boxes of all words"),
      ),
      many ? element("div.group", tool("↑", "page-up", "Page before"), tool("↓", "page-down", "Next page")) : "",
      element("div.group", button("History", run("history"), { class: "quiet" })),
      this.tools,
    );
  }

  #finisher() {
    this.left = element("p.left");
    const [text, command] = this.correct
      ? ["Go on with the questions", "queue"]
      : ["Finish, next document", "finish"];
    const finish = button(text, () => this.commands[command](), { class: "primary finish" });
    return element("div.finisher", this.left, finish);
  }

  #refresh() {
    const open = this.review.open.length;
    const learnt = this.review.values.filter((value) => value.state === "confirmed" && value.text).length;
    const left = this.review.done ? "Finished" : open ? `${open} to look at` : "Nothing left to look at";
    this.left.textContent = `${left} · ${learnt} of ${this.review.listed.length} learnt`;
    this.undo.disabled = !this.review.canUndo;
    this.redo.disabled = !this.review.canRedo;
  }

  /** Finish the document, save it, and open the next one of the queue. */
  async #finish() {
    this.#choosing?.giveUp();
    const unseen = this.review.unseen;
    const state = unseen.length ? await askForState(this.review) : "confirmed";
    if (!state) return this.panel.focus((this.review.open[0] ?? unseen[0]).id);
    this.review.finish(state);
    if (!(await this.saver.flush())) return;
    const query = new URLSearchParams(queueQuery().slice(1));
    query.set("state", "open");
    query.set("limit", 2);
    const { documents } = await api.get(`/review/documents?${query}`);
    const next = documents.find((one) => one.number !== this.document.number);
    location.hash = next ? `#/document/${next.number}` : `#/${queueQuery()}`;
  }

  async #history() {
    await this.saver.flush();
    await showHistory(this.document.number);
  }
}

document.getElementById("help").addEventListener("click", showKeys);
addEventListener("keydown", (event) => {
  if (event.key === "?" && !event.target.matches("input") && !document.querySelector("dialog[open]")) showKeys();
});
