// Saves a review while a person works on it. What is not saved yet is kept in the browser too.

import * as api from "./api.js";
import * as drafts from "./drafts.js";
import { merge, same } from "./merge.js";

const WAIT = 500;
const AGAIN = 3000;

/** Saves each change. `tell` gets the state as a text; `resolve` asks a person about a conflict. */
export class Saver {
  #timer = 0;
  #running = null;

  constructor(review, { tell, resolve }) {
    this.review = review;
    this.tell = tell;
    this.resolve = resolve;
    review.addEventListener("change", () => this.#changed());
    addEventListener("pagehide", () => this.#leave());
  }

  /** Take up what an earlier tab could not save. */
  async resume() {
    const draft = drafts.read(this.review);
    if (!draft) return;
    const { number, revision, values, done } = this.review;
    const theirs = { number, revision, values, state: done ? "done" : "" };
    await this.#merge(draft.base, draft.now, theirs);
    await this.flush();
  }

  /** Save now; resolves when everything is saved, or could not be. */
  async flush() {
    clearTimeout(this.#timer);
    while (this.#unsaved()) {
      this.#running ??= this.#save().finally(() => (this.#running = null));
      if (!(await this.#running)) return false;
    }
    return true;
  }

  #unsaved() {
    return !same(this.review.now, this.review.saved);
  }

  #changed() {
    if (!this.#unsaved()) {
      drafts.remove(this.review);
      return;
    }
    this.#keep();
    this.tell("Saving …");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), WAIT);
  }

  #keep() {
    const { saved: base, now, revision } = this.review;
    drafts.keep(this.review, { revision, base, now });
  }

  async #save() {
    const sent = this.review.now;
    try {
      const answer = await api.put(this.#path(), this.#body());
      this.review.revision = answer.revision;
      this.review.saved = sent;
      if (this.#unsaved()) this.#keep();
      else {
        drafts.remove(this.review);
        this.tell("Saved");
      }
      return true;
    } catch (error) {
      if (error.status === 409) return this.#conflict();
      this.tell(`Not saved, but kept in this browser: ${error.message}`);
      this.#timer = setTimeout(() => this.flush(), AGAIN);
      return false;
    }
  }

  async #conflict() {
    const all = await this.#merge(this.review.saved, this.review.now, await api.get(this.#path()));
    if (all) this.tell("Merged with the changes of somebody else");
    return true;
  }

  /** Put `now`, made from `base`, on top of what the server has. Resolves with whether nobody had to be asked. */
  async #merge(base, now, theirs) {
    const { values, conflicts } = merge(base.values, now.values, theirs.values);
    const kept = conflicts.length ? await this.resolve(conflicts, now.values, theirs) : new Set();
    const chosen = new Map(now.values.map((value) => [value.id, value]));
    const merged = values.map((value) => (kept.has(value.id) ? chosen.get(value.id) : value));
    const done = now.done === base.done ? theirs.state === "done" : now.done;
    this.review.rebase(theirs, { values: merged, done: done && !merged.some((value) => this.review.needsLook(value)) });
    return conflicts.length === 0;
  }

  /** The tab closes: send what is not saved. The draft stays, should this fail. */
  #leave() {
    if (this.#unsaved()) api.put(this.#path(), this.#body(), { keepalive: true }).catch(() => {});
  }

  #path() {
    return `/review/documents/${this.review.number}`;
  }

  #body() {
    return { revision: this.review.revision, values: this.review.values, done: this.review.done };
  }
}
