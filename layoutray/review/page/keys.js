// The keys of the document view.

import { show } from "./dialog.js";
import { element } from "./elements.js";

const KEYS = [
  ["Enter", "confirm the value, and go to the next that needs a look"],
  ["↓ ↑ or J K", "next value, value before"],
  ["E or F2", "type over the value"],
  ["W", "choose the words of the value: arrows move, Shift extends, Space chooses, Enter accepts, Escape gives up"],
  ["T", "take the value that another model has stated"],
  ["Delete", "remove the value, or restore it"],
  ["A", "add a value"],
  ["N", "add a record"],
  ["S", "begin a document of the packet at this page, or join it with the one before"],
  ["D", "give the document of this page the next kind of the packet"],
  ["Ctrl Z, Ctrl Shift Z", "undo, redo"],
  ["Ctrl Enter", "finish the document and open the next"],
  ["Page Down, Page Up", "next page, page before"],
  ["+ − 0", "zoom in, zoom out, whole width"],
  ["R", "rotate"],
  ["B", "show the boxes of all words"],
  ["H", "history"],
  ["Q", "queue"],
  ["?", "these keys"],
];

const PLAIN = {
  Enter: "confirm",
  ArrowDown: "down",
  j: "down",
  ArrowUp: "up",
  k: "up",
  e: "edit",
  F2: "edit",
  w: "words",
  t: "take",
  Delete: "remove",
  Backspace: "remove",
  a: "focus-adder",
  n: "focus-record-adder",
  s: "boundary",
  d: "kind",
  PageDown: "page-down",
  PageUp: "page-up",
  "+": "zoom-in",
  "=": "zoom-in",
  "-": "zoom-out",
  0: "fit",
  r: "rotate",
  b: "boxes",
  h: "history",
  q: "queue",
};

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
  const rows = KEYS.map(([key, meaning]) =>
    element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, key)), element("td", {}, meaning)),
  );
  return show("Keys of the document view", element("table", { class: "keys" }, rows));
}
