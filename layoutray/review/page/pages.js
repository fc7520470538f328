// The pages of a document: pictures with the polygons of values and words. They are loaded when they come into view.

import { drawing, element } from "./elements.js";
import { get } from "./api.js";
import { partsOf } from "./packet.js";
import { corners, polygonsOf } from "./shapes.js";

const WIDTHS = [160, 320, 480, 640, 960, 1280, 1920, 2560];
const NEAR = "600px 0px";
const STEP = 1.25;

/** Shows the pages in a scrolling element. Dispatches `over` and `pick` with the id of a value. */
export class Pages extends EventTarget {
  #zoom = 1;
  #turn = 0;
  #views = new Map();
  #watcher;

  constructor(document, review) {
    super();
    this.document = document;
    this.review = review;
    this.scroller = element("div.pages", { tabindex: 0, role: "region", "aria-label": "Pages" });
    const near = { root: this.scroller, rootMargin: NEAR };
    this.#watcher = new IntersectionObserver((entries) => this.#seen(entries), near);
    for (const size of document.pages) this.#addPage(size);
    this.draw();
    review.addEventListener("change", () => this.draw());
    for (const name of ["pointerover", "pointerout", "click"])
      this.scroller.addEventListener(name, (event) => this.#point(event));
    this.#letDrag();
  }

  /** The words of a page, loaded once. */
  words(page) {
    const view = this.#views.get(page);
    const address = `/review/documents/${this.document.number}/pages/${page}`;
    view.loading ??= get(address).then((words) => (view.words = words));
    return view.loading;
  }

  /** The words of a page if they are loaded. */
  loadedWords(page) {
    return this.#views.get(page)?.words;
  }

  /** Number and layer of the page under an element; null for none. */
  pageOf(target) {
    const svg = target.closest?.("svg.page");
    return svg ? this.#views.get(Number(svg.dataset.page)) : null;
  }

  view(page) {
    return this.#views.get(page);
  }

  /** Make pages as wide as there is room. */
  fit() {
    const widest = Math.max(...this.document.pages.map((size) => this.#turned(size)[0]));
    this.#setZoom((this.scroller.clientWidth - 24) / widest);
  }

  zoomIn() {
    this.#setZoom(this.#zoom * STEP);
  }

  zoomOut() {
    this.#setZoom(this.#zoom / STEP);
  }

  rotate() {
    this.#turn = (this.#turn + 90) % 360;
    for (const view of this.#views.values()) this.#orient(view);
    this.fit();
  }

  /** The page in the middle of the view. */
  get inView() {
    const middle = this.scroller.getBoundingClientRect().top + this.scroller.clientHeight / 2;
    const isAbove = (page) => this.#views.get(page).svg.getBoundingClientRect().top <= middle;
    const numbers = [...this.#views.keys()];
    return numbers.findLast(isAbove) ?? numbers[0];
  }

  /** Scroll to a page by its place: 1 is the next one, -1 the one before. */
  step(by) {
    const numbers = [...this.#views.keys()];
    const next = numbers[Math.min(Math.max(numbers.indexOf(this.inView) + by, 0), numbers.length - 1)];
    this.#views.get(next).svg.scrollIntoView({ block: "start" });
  }

  /** Show which value is meant, and bring it into view if `scroll`. */
  mark(id, scroll = false) {
    this.marked = id;
    const view = this.#views.get(this.review.value(id)?.page);
    if (scroll && view && !view.shown) this.#drawValues(view); // of a page that was not in view yet
    for (const polygon of this.scroller.querySelectorAll("polygon.value"))
      polygon.classList.toggle("marked", polygon.dataset.id === id);
    const found = this.scroller.querySelector("polygon.value.marked");
    if (scroll) (found ?? view?.svg)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Draw the values of the pages that are in view. */
  draw() {
    const first = new Set(partsOf(this.review).map((part) => part.first));
    for (const { svg, page } of this.#views.values()) svg.classList.toggle("begins", first.has(page));
    for (const view of this.#views.values()) if (view.shown) this.#drawValues(view);
  }

  /** Whether the boxes of all words are shown. */
  get showsWords() {
    return this.scroller.classList.contains("with-words");
  }

  showWords(shown) {
    this.scroller.classList.toggle("with-words", shown);
    this.draw();
  }

  close() {
    this.#watcher.disconnect();
  }

  /** Move the pages by dragging, unless words are chosen, and zoom by Ctrl and the wheel. */
  #letDrag() {
    const { scroller } = this;
    let last = null;
    scroller.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType === "mouse" && !scroller.classList.contains("choosing")) last = event;
    });
    addEventListener("pointermove", (event) => {
      if (!last || !scroller.isConnected) return;
      scroller.scrollBy(last.clientX - event.clientX, last.clientY - event.clientY);
      last = event;
    });
    addEventListener("pointerup", () => (last = null));
    const zoom = (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      if (event.deltaY < 0) this.zoomIn();
      else this.zoomOut();
    };
    scroller.addEventListener("wheel", zoom, { passive: false });
  }

  #addPage({ page, width, height }) {
    const picture = drawing("image", { width, height, preserveAspectRatio: "none" });
    const outlines = drawing("path.words");
    const values = drawing("g.values");
    const choice = drawing("g.choice");
    const layer = drawing("g", picture, outlines, values, choice);
    const svg = drawing("svg.page", { role: "img", "aria-label": `Page ${page}`, "data-page": page }, layer);
    const view = { page, width, height, svg, layer, picture, outlines, values, choice };
    Object.assign(view, { shown: false, words: null, loading: null });
    this.#views.set(page, view);
    this.#orient(view);
    this.scroller.append(svg);
    this.#watcher.observe(svg);
  }

  #turned({ width, height }) {
    return this.#turn % 180 ? [height, width] : [width, height];
  }

  #orient(view) {
    const { width, height, svg, layer } = view;
    const [wide, high] = this.#turned(view);
    const moved = { 0: "0 0", 90: `${height} 0`, 180: `${width} ${height}`, 270: `0 ${width}` }[this.#turn];
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    layer.setAttribute("transform", `translate(${moved}) rotate(${this.#turn})`);
    this.#size(view);
  }

  #setZoom(zoom) {
    const { scrollTop, scrollHeight, scrollLeft, scrollWidth } = this.scroller;
    this.#zoom = Math.min(Math.max(zoom, 0.05), 8);
    for (const view of this.#views.values()) this.#size(view);
    this.scroller.scrollTop = (scrollTop / scrollHeight) * this.scroller.scrollHeight;
    this.scroller.scrollLeft = (scrollLeft / scrollWidth) * this.scroller.scrollWidth;
  }

  #size(view) {
    const [wide, high] = this.#turned(view);
    view.svg.setAttribute("width", Math.round(wide * this.#zoom));
    view.svg.setAttribute("height", Math.round(high * this.#zoom));
    if (view.shown) this.#loadPicture(view);
  }

  async #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      const view = this.#views.get(Number(target.dataset.page));
      view.shown = isIntersecting;
      if (!isIntersecting) {
        view.values.replaceChildren();
        view.outlines.removeAttribute("d");
        continue;
      }
      this.#loadPicture(view);
      this.#drawValues(view);
      await this.words(view.page);
      if (view.shown) this.#drawValues(view);
    }
  }

  /** The picture in the size that is shown; a larger one that is there is kept. */
  #loadPicture(view) {
    const width = widthFor(view.width * this.#zoom * devicePixelRatio);
    if (width <= (view.pictureWidth ?? 0)) return;
    view.pictureWidth = width;
    view.picture.setAttribute("href", pictureAddress(this.document.number, view.page, width));
  }

  #drawValues(view) {
    const shown = this.review.listed.filter((value) => value.page === view.page && value.state !== "removed");
    const polygons = shown.flatMap((value) =>
      polygonsOf(value, this.review.said[value.id], view.words).map((points) => this.#polygon(value, points)),
    );
    view.values.replaceChildren(...polygons);
    // One path for all words of a page: a thousand elements would slow scrolling down.
    const boxes = (this.showsWords && view.words) || [];
    view.outlines.setAttribute("d", boxes.map(([, x0, y0, x1, y1]) => `M${x0} ${y0}H${x1}V${y1}H${x0}Z`).join(""));
  }

  #polygon(value, points) {
    const state = value.state === "confirmed" ? "confirmed" : this.review.needsLook(value) ? "open" : "accepted";
    const marked = value.id === this.marked ? "marked" : "";
    return drawing("polygon", { class: `value ${state} ${marked}`, points: points.join(" "), "data-id": value.id });
  }

  #point(event) {
    const id = event.target.closest?.("polygon.value")?.dataset.id;
    if (!id && event.type === "click") return;
    const name = event.type === "click" ? "pick" : "over";
    this.dispatchEvent(new CustomEvent(name, { detail: event.type === "pointerout" ? null : (id ?? null) }));
  }
}

function widthFor(needed) {
  return WIDTHS.find((one) => one >= needed) ?? WIDTHS.at(-1);
}

/** The address of the picture of a page that is at least so wide, in one of a few widths, which the browser keeps. */
export function pictureAddress(number, page, needed) {
  return `/review/documents/${number}/pages/${page}/picture?width=${widthFor(needed)}`;
}

/** Draw words as polygons of a class into a layer. */
export function drawWords(layer, numbers, words, name) {
  for (const number of numbers) {
    layer.append(drawing("polygon", { class: name, points: corners(words[number]).join(" "), "data-word": number }));
  }
}
