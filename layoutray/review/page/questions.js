// The mode yes or no: one value at a time, of any document, with the page around it. The next question is loaded ahead.

import * as api from "./api.js";
import { resolve } from "./conflict.js";
import { announce, button, drawing, element, quoted, visible } from "./elements.js";
import { pictureAddress } from "./pages.js";
import { Review } from "./review.js";
import { Saver } from "./saving.js";

const MOST_ASKED = 250;
const SHARE_OF_PAGE = 0.85;
const KEYS = { y: "yes", n: "no", x: "none", " ": "skip", u: "undo", 1: 0, 2: 1, 3: 2, 4: 3 };

/** What was asked in this tab, and the answers, the latest last, and the next questions; they outlive a correction. */
const asked = [];
const answered = []; // { question, before: the value before the answer, looked: whether it was not skipped }
const ahead = []; // promises
let remaining = Infinity; // questions, also while answers are being saved

/** Show the questions in `main`. Returns a function that ends the view. */
export async function showQuestions(main, tell) {
  if (!ahead.length) remaining = Infinity; // documents may have been added
  const view = new Questions(main, tell);
  await view.next();
  return () => view.close();
}

class Questions {
  #stop = new AbortController();

  constructor(main, tell) {
    this.main = main;
    this.tell = tell;
    addEventListener("keydown", (event) => this.#key(event), { signal: this.#stop.signal });
  }

  /** Show the question that was loaded ahead, and load the one after it. */
  async next() {
    this.current = null;
    this.busy = true;
    const loading = ahead.shift() ?? load();
    const question = await loading.catch((error) => {
      if (error.status === 401) location.reload(); // the session has ended: sign in again
      this.tell(`The next question cannot be loaded: ${error.message}`);
    });
    this.busy = false;
    if (!question) {
      const again = question === null ? "" : button("Try again", () => this.next());
      const title = question === null ? "No question is left" : "There is no question";
      const buttons = [again, this.#undoer(), toQueue()];
      this.main.replaceChildren(element("div.question", element("h1", title), buttons));
      return;
    }
    await this.#show(question);
  }

  /** Show a question, whose value gets the state `before` if that is given. */
  async #show(question, before = null) {
    // Questions about one document share its review, so that no save is made from an old revision.
    const known = this.saver?.review.number === question.number;
    if (!known) {
      this.saver?.flush();
      this.saver = new Saver(new Review(question.document), { tell: this.tell, resolve });
      await this.saver.resume();
    }
    this.review = this.saver.review;
    if (before) this.review.replace({ [question.id]: [before] });
    this.current = question;
    this.#draw();
    if (ahead.length) return;
    ahead.push(load());
    ahead[0].catch(() => {}); // told when it is needed
  }

  close() {
    this.#stop.abort();
    return this.saver?.flush();
  }

  #key(event) {
    const name = KEYS[event.key.toLowerCase()];
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;
    if (name === undefined || !plain) return;
    if (document.querySelector("dialog[open]") || event.target.matches?.("input")) return;
    event.preventDefault(); // the space bar would press the button that has the focus
    this.#answer(name);
  }

  /** Take the last answer back, with its correction, and ask again. */
  async #undo() {
    if (!answered.length) return;
    this.busy = true;
    const { question, before, looked } = answered.at(-1);
    const failed = (error) => this.tell(`The answer cannot be taken back: ${error.message}`);
    const saved = (await this.saver?.flush()) ?? true;
    const shown = saved && (await api.get(`/review/documents/${question.number}`).catch(failed));
    this.busy = false;
    if (!shown) return;
    answered.pop();
    if (this.current) ahead.unshift(Promise.resolve(this.current));
    remaining += looked;
    this.saver = null; // a document that was loaded ahead may be older than the answer
    await this.#show({ ...question, document: shown }, before);
  }

  /** Take an answer: its name, or the index of the alternative that is right. */
  async #answer(name) {
    if (this.busy) return;
    if (name === "undo") return this.#undo();
    if (!this.current) return;
    const { number, id } = this.current;
    const alternative = this.review.said[id].alternatives[name];
    if ((typeof name === "number" && !alternative) || (name === "none" && this.review.value(id).row)) return;
    answered.push({ question: this.current, before: this.review.value(id), looked: name !== "skip" });
    answered.splice(0, answered.length - MOST_ASKED);
    if (name === "yes") this.review.confirm(id);
    if (name === "none") this.review.none(id);
    if (alternative) this.review.set(id, { text: alternative.text, page: alternative.page, words: alternative.words });
    if (name !== "skip") remaining--;
    if (name !== "no") return this.next();
    this.current = null;
    this.review.reject(id);
    if (await this.saver.flush()) location.hash = `#/document/${number}?correct=${encodeURIComponent(id)}`;
  }

  #draw() {
    const { id, left, document: shown } = this.current;
    const value = this.review.value(id);
    const said = this.review.said[id];
    remaining = Math.min(remaining, left);
    const counted = `${remaining} question${remaining === 1 ? "" : "s"}`;
    const act = (name) => () => this.#answer(name);
    const doubt = said.guess ? "Not answered by the model; this is its most probable value." : "";
    const alternatives = said.alternatives.map((alternative, index) => {
      const choose = button(`${index + 1}`, act(index), { "aria-keyshortcuts": index + 1 });
      return element("li", choose, quoted(alternative.text, { class: "text" }), strip(shown, alternative));
    });
    const digits = alternatives.map((_, index) => index + 1);
    const keys = ["Y", ...digits, "N", ...(value.row ? [] : ["X"]), "space", "U"];
    const note = `Keys: ${keys.join(", ")}. Confidence ${Math.floor(said.confidence * 100)} %. ${doubt}`;
    const none = { "aria-keyshortcuts": "x", title: `The document has no value of ${visible(value.name)}` };
    this.main.replaceChildren(
      element(
        "div.question",
        element("p.note", quoted(shown.name), ` · ${counted} left `, toQueue()),
        element("h1", quoted(value.name), ": ", quoted(value.text, { class: "text" }), "?"),
        around(shown, value, said),
        element(
          "div.choices",
          button("Yes", act("yes"), { class: "primary", "aria-keyshortcuts": "y" }),
          button("No", act("no"), { "aria-keyshortcuts": "n" }),
          value.row ? "" : button("No such value", act("none"), none),
          button("Skip", act("skip"), { "aria-keyshortcuts": "Space" }),
          this.#undoer(),
          element("span.note", note),
        ),
        alternatives.length ? element("p.note", "Or is it one of these?") : "",
        element("ol.alternatives", alternatives),
      ),
    );
    announce(`${value.name}: ${value.text}?`);
  }

  #undoer() {
    return answered.length ? button("Undo", () => this.#answer("undo"), { "aria-keyshortcuts": "u" }) : "";
  }
}

function toQueue() {
  return element("a", { href: "#/" }, "Queue");
}

/** The next question with its document, whose picture is loaded too; null if there is none. */
async function load() {
  const query = new URLSearchParams(asked.map((one) => ["without", one]));
  const question = await api.get(`/review/question?${query}`);
  if (!question.id) return null;
  asked.push(`${question.number}/${question.id}`);
  asked.splice(0, asked.length - MOST_ASKED);
  question.document = await api.get(`/review/documents/${question.number}`);
  const value = question.document.values.find((one) => one.id === question.id);
  const picture = new Image();
  picture.src = pictureOf(question.document, value);
  await picture.decode().catch(() => {});
  return question;
}

function pageOf(shown, value) {
  return shown.pages.find(({ page }) => page === value.page) ?? shown.pages[0];
}

/** The picture of the value's page, so wide that the part that is shown is as sharp as the screen. */
function pictureOf(shown, value) {
  const { page } = pageOf(shown, value);
  return pictureAddress(shown.number, page, (innerWidth / SHARE_OF_PAGE) * devicePixelRatio);
}

/** Left, right, top and bottom of regions. */
function bounds(boxes) {
  const numbers = (from) => boxes.flatMap((points) => points.filter((_, index) => index % 2 === from));
  return [Math.min(...numbers(0)), Math.max(...numbers(0)), Math.min(...numbers(1)), Math.max(...numbers(1))];
}

/** The part of the page around the value, with its box. */
function around(shown, value, said) {
  const { page, width, height } = pageOf(shown, value);
  const boxes = value.page === page ? said.polygons : [];
  const [x0, x1, y0, y1] = boxes.length ? bounds(boxes) : [0, width, 0, height];
  const wide = Math.min(Math.max(SHARE_OF_PAGE * width, 1.3 * (x1 - x0)), width);
  const high = Math.min(Math.max(0.5 * wide, 1.6 * (y1 - y0)), height);
  const left = Math.min(Math.max((x0 + x1 - wide) / 2, 0), width - wide);
  const top = Math.min(Math.max((y0 + y1 - high) / 2, 0), height - high);
  return cut(shown, value, boxes, [left, top, wide, high]);
}

/** The lines of the page around an alternative, with its box. */
function strip(shown, alternative) {
  const { width } = pageOf(shown, alternative);
  const [, , y0, y1] = bounds(alternative.polygons);
  const margin = Math.min((y1 - y0) / 2, width / 40);
  return cut(shown, alternative, alternative.polygons, [0, y0 - margin, width, y1 - y0 + 2 * margin]);
}

/** A part of the picture of a value's page, with the regions of the value. */
function cut(shown, value, boxes, part) {
  const { page, width, height } = pageOf(shown, value);
  const picture = { href: pictureOf(shown, value), width, height, preserveAspectRatio: "none" };
  return drawing(
    "svg.page",
    { role: "img", "aria-label": `Page ${page}`, viewBox: part.join(" ") },
    drawing("image", picture),
    boxes.map((points) => drawing("polygon.value.open.marked", { points: points.join(" ") })),
  );
}
