// A document under review: its values, and undo and redo. No elements, no requests.

/** What a person can do with the values of a document. Values are never changed in place. */
export class Review extends EventTarget {
  #past = [];
  #future = [];

  constructor(document) {
    super();
    this.number = document.number;
    this.doc_id = document.doc_id;
    this.said = document.said;
    this.load(document);
  }

  /** Take over the state of the server; nothing can be undone then. */
  load(document) {
    this.revision = document.revision;
    this.saved = { values: document.values, done: document.state === "done" };
    this.now = this.saved;
    this.#past = [];
    this.#future = [];
    this.#tell();
  }

  get values() {
    return this.now.values;
  }

  /** The values that are listed: of what the model has only guessed, those that a person has answered. */
  get listed() {
    return this.values.filter((value) => value.state !== "open" || !this.said[value.id]?.guess);
  }

  get done() {
    return this.now.done;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  value(id) {
    return this.values.find((value) => value.id === id);
  }

  /** Whether a value still needs a look. */
  needsLook(value) {
    if (value.state === "rejected") return true;
    return value.state === "open" && Boolean(this.said[value.id]?.needs_look);
  }

  /** Say that a value is wrong; it still needs a look, which corrects or removes it. */
  reject(id) {
    this.set(id, { state: "rejected" });
  }

  /** Set parts of a value; a person has seen it then. */
  set(id, parts) {
    this.#change(this.values.map((value) => (value.id === id ? { ...value, state: "confirmed", ...parts } : value)));
  }

  /** Put other values in the place of some, by their ids, in one step. */
  replace(others) {
    this.#change(this.values.flatMap((value) => others[value.id] ?? [value]));
  }

  /** Say that a value is right, or that one which was removed is there. */
  confirm(id) {
    if (this.value(id).state !== "confirmed") this.set(id, {});
  }

  remove(ids) {
    this.#change(this.values.map((value) => (ids.includes(value.id) ? { ...value, state: "removed" } : value)));
  }

  /** Say that the document has no value of this name. */
  none(id) {
    this.set(id, { text: "", page: null, words: [], state: "removed" });
  }

  /** Add empty values with these names and return their ids. */
  add(names, row = "") {
    const added = names.map((name) => {
      const id = `added-${crypto.randomUUID()}`;
      return { id, name, text: "", page: null, words: [], row, state: "confirmed" };
    });
    this.#change([...this.values, ...added]);
    return added.map((value) => value.id);
  }

  /** Add a record on the page of another one, with the names of its values, and return the ids of the new values. */
  addRow(row) {
    const parts = row.split("/");
    const names = this.values.filter((value) => value.row === row).map((value) => value.name);
    return this.addRecord(parts.slice(0, -2).join("/"), Number(parts.at(-2)), names);
  }

  /** Add a record with empty values of these names on a page, and return their ids. */
  addRecord(record, page, names) {
    const used = new Set(this.values.map((value) => value.row));
    let number = 1;
    while (used.has(`${record}/${page}/${number}`)) number++;
    return this.add([...new Set(names)], `${record}/${page}/${number}`);
  }

  /** The values that still need a look. */
  get open() {
    return this.values.filter((value) => this.needsLook(value));
  }

  /** The values that nobody has looked at, those that need no look included, and those that are wrong. */
  get unseen() {
    return this.listed.filter((value) => ["open", "rejected"].includes(value.state));
  }

  /**
   * Finish the document. Values that need a look get this state, wrong ones are removed, and those that the model has
   * accepted are confirmed too, or nobody has looked at them and they are not learnt.
   */
  finish(state) {
    const ended = (value) => {
      if (value.state === "rejected") return "removed";
      return state === "confirmed" || this.needsLook(value) ? state : "open";
    };
    const unseen = new Set(this.unseen);
    const values = this.values.map((value) => (unseen.has(value) ? { ...value, state: ended(value) } : value));
    this.#apply({ values, done: true });
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.now);
    this.now = this.#past.pop();
    this.#tell();
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.now);
    this.now = this.#future.pop();
    this.#tell();
  }

  /** Take over what the server has stored, and what is `next` on top of it. Undo would undo the work of others. */
  rebase(document, next) {
    this.load(document);
    this.now = next;
    this.#tell();
  }

  #change(values) {
    this.#apply({ values, done: false });
  }

  #apply(next) {
    this.#past.push(this.now);
    this.#future = [];
    this.now = next;
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}
