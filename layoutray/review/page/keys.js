// The keys of the document view.

import { show } from "./dialogs.js";
import { element } from "./elements.js";

/** Keys as people read them, what they do, and the command of each key as events name it; some need Ctrl. */
const KEYS = [
  ["Enter", "confirm the value, and go to the next that needs a look", { Enter: "confirm" }],
  ["↓ ↑ or J K", "next value, value before", { ArrowDown: "down", j: "down", ArrowUp: "up", k: "up" }],
  ["E or F2", "type over the value", { e: "edit", F2: "edit" }],
  [
    "W",
    "choose the words of the value: arrows move, Shift extends, Space chooses, Enter accepts, Escape gives up",
    { w: "words" },
  ],
  ["T", "take the value that another model has stated", { t: "take" }],
  ["Delete", "remove the value, or restore it", { Delete: "remove", Backspace: "remove" }],
  ["A", "add a value", { a: "focus-adder" }],
  ["N", "add a record", { n: "focus-record-adder" }],
  ["S", "begin a document of the packet at this page, or join it with the one before", { s: "boundary" }],
  ["D", "give the document of this page the next kind of the packet", { d: "kind" }],
  ["Ctrl Z, Ctrl Shift Z", "undo, redo", {}],
  ["Ctrl Enter", "finish the document and open the next", {}],
  ["Page Down, Page Up", "next page, page before", { PageDown: "page-down", PageUp: "page-up" }],
  ["+ − 0", "zoom in, zoom out, whole width", { "+": "zoom-in", "=": "zoom-in", "-": "zoom-out", 0: "fit" }],
  ["R", "rotate", { r: "rotate" }],
  ["B", "show the boxes of all words", { b: "boxes" }],
  ["H", "history", { h: "history" }],
  ["Q", "queue", { q: "queue" }],
  ["?", "these keys", {}],
];
const PLAIN = Object.assign({}, ...KEYS.map(([, , commands]) => commands));

/** The command of a key; "" if it is none, or belongs to a field or button that has the focus. */
export function commandOf(event) {
  const typing = event.target.matches?.("input, select, textarea");
  if (event.ctrlKey || event.metaKey) {
    if (event.key === "Enter") return document.querySelector("dialog[open]") ? "" : "finish";
    if (typing) return "";
    if (event.key.toLowerCase() === "z") return event.shiftKey ? "redo" : "undo";
    return event.key.toLowerCase() === "y" ? "redo" : "";
  }
  if (typing || event.altKey || document.querySelector("dialog[open]")) return "";
  const onOtherButton = event.target.matches?.("button:not(.main), a, summary");
  if (event.key === "Enter" && onOtherButton) return "";
  return PLAIN[event.key.length === 1 ? event.key.toLowerCase() : event.key] ?? "";
}

/** Show the keys. */
export function showKeys() {
  const rows = KEYS.map(([keys, meaning]) =>
    element("tr", element("th", { scope: "row" }, element("kbd", keys)), element("td", meaning)),
  );
  return show("Keys of the document view", element("table.keys", rows));
}
