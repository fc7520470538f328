// Chooses the words of a value: by click, rectangle or lasso, or by the keyboard alone.

import { announce, drawing, visible } from "./elements.js";
import { drawWords } from "./pages.js";
import { inLasso, inRectangle, textOf, wordAt } from "./shapes.js";

const MOVED = 4;

/** One choice of words. It begins with those of a value; `done` gets page and words, or null when it is given up. */
export class Choosing {
  #path = null;
  #stop = new AbortController();

  constructor(pages, { page, words, done, changed }) {
    this.pages = pages;
    this.page = page;
    this.words = new Set(words);
    this.cursor = words[0] ?? -1;
    this.anchor = this.cursor;
    this.lasso = false;
    this.done = done;
    this.changed = changed;
    const options = { signal: this.#stop.signal };
    for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
      pages.scroller.addEventListener(name, (event) => this.#point(name, event), options);
    }
    pages.scroller.classList.add("choosing");
    this.#draw();
  }

  /** Chosen words in the order of the page. */
  get numbers() {
    return [...this.words].sort((one, other) => one - other);
  }

  get text() {
    return textOf(this.numbers, this.pages.loadedWords(this.page) ?? []);
  }

  accept() {
    this.#end();
    this.done(
      this.words.size ? { page: this.page, words: this.numbers, text: this.text } : { page: null, words: [], text: "" },
    );
  }

  giveUp() {
    this.#end();
    this.done(null);
  }

  /** Keys while words are chosen. Returns whether the key was one. */
  key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: "down", ArrowUp: "up" };
    if (event.key in steps) this.#step(steps[event.key], event.shiftKey);
    else if (event.key === " ") this.#toggle(this.cursor);
    else if (event.key === "Enter") this.accept();
    else if (event.key === "Escape") this.giveUp();
    else if (event.key === "Backspace" || event.key === "Delete") this.#take(new Set());
    else return false;
    return true;
  }

  #step(by, extend) {
    const words = this.pages.loadedWords(this.page) ?? [];
    if (!words.length) return;
    const next = typeof by === "number" ? this.cursor + by : neighbour(this.cursor, by, words);
    this.cursor = Math.min(Math.max(next, 0), words.length - 1);
    if (!extend) this.anchor = this.cursor;
    else this.words = new Set(range(this.anchor, this.cursor));
    announce(`${visible(words[this.cursor][0])}${this.words.has(this.cursor) ? ", chosen" : ""}`);
    this.#draw();
    this.pages.view(this.page).choice.querySelector(".cursor")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #toggle(number) {
    if (number < 0) return;
    const words = new Set(this.words);
    if (!words.delete(number)) words.add(number);
    this.anchor = this.cursor = number;
    this.#take(words);
  }

  #take(words) {
    this.words = words;
    this.#draw();
  }

  #point(name, event) {
    const view = this.pages.pageOf(event.target);
    if (name === "pointerdown" && view && event.button === 0) {
      this.#path = { view, points: [place(view, event)], start: [event.clientX, event.clientY], moved: false };
      this.pages.scroller.setPointerCapture(event.pointerId);
      event.preventDefault();
      this.pages.scroller.focus();
    } else if (name === "pointermove" && this.#path) {
      this.#move(event);
    } else if (name === "pointerup" && this.#path) {
      this.#finish(event);
    } else if (name === "pointercancel") {
      this.#path = null;
      this.#draw();
    }
  }

  #move(event) {
    const { view, start, points } = this.#path;
    this.#path.moved ||= Math.hypot(event.clientX - start[0], event.clientY - start[1]) > MOVED;
    points.push(place(view, event));
    if (this.#path.moved) this.#draw();
  }

  #finish(event) {
    const { view, points, moved } = this.#path;
    this.#path = null;
    const words = view.words ?? [];
    const other = view.page !== this.page;
    if (other) [this.page, this.words] = [view.page, new Set()];
    if (!moved) {
      this.#toggle(wordAt(...points[0], words));
      this.#draw();
      return;
    }
    const found = this.lasso ? inLasso(points, words) : inRectangle([...points[0], ...place(view, event)], words);
    this.cursor = this.anchor = found[0] ?? this.cursor;
    this.#take(new Set(event.shiftKey && !other ? [...this.words, ...found] : found));
  }

  #draw() {
    for (const { page } of this.pages.document.pages) this.pages.view(page).choice.replaceChildren();
    const view = this.pages.view(this.page);
    if (view?.words) {
      drawWords(view.choice, this.numbers, view.words, "chosen");
      if (this.cursor >= 0) drawWords(view.choice, [this.cursor], view.words, "cursor");
    }
    if (this.#path?.moved) this.#path.view.choice.append(this.#outline());
    this.changed(this.text);
  }

  #outline() {
    const { points } = this.#path;
    const [[x0, y0], [x1, y1]] = [points[0], points.at(-1)];
    const corners = this.lasso ? points.flat() : [x0, y0, x1, y0, x1, y1, x0, y1];
    return drawing("polygon.outline", { points: corners.join(" ") });
  }

  #end() {
    this.#stop.abort();
    this.pages.scroller.classList.remove("choosing");
    for (const { page } of this.pages.document.pages) this.pages.view(page).choice.replaceChildren();
  }
}

/** Where a pointer is, in pixels of the page, also when the page is turned. */
function place({ layer }, event) {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(layer.getScreenCTM().inverse());
  return [x, y];
}

function range(one, other) {
  const [first, last] = [Math.min(one, other), Math.max(one, other)];
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** The nearest word of the line above or below. */
function neighbour(from, where, words) {
  if (from < 0) return 0;
  const [, x0, y0, x1, y1] = words[from];
  const sign = where === "down" ? 1 : -1;
  const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
  let best = [from, Infinity];
  words.forEach(([, left, top, right, bottom], number) => {
    const below = sign * ((top + bottom) / 2 - y);
    const distance = below * 3 + Math.max(left - x, x - right, 0);
    if (below > (y1 - y0) / 2 && distance < best[1]) best = [number, distance];
  });
  return best[0];
}
