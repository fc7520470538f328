// Dialogs. The browser keeps the focus inside and gives it back.

import { get } from "./api.js";
import { button, element, quoted, visible } from "./elements.js";

/** Show a dialog and resolve with the name of the button that closed it; "" after Escape. */
export function ask(title, content, choices) {
  return new Promise((resolve) => {
    const buttons = choices.map(([name, text, attributes = {}]) =>
      element("button", { value: name, class: name === choices[0][0] ? "primary" : false, ...attributes }, text),
    );
    const heading = element("h2", { id: "dialog-title" }, title);
    const form = element("form", { method: "dialog" }, heading, content, element("div.choices", buttons));
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Show text that can only be closed. */
export function show(title, content) {
  return ask(title, content, [["close", "Close"]]);
}

/** A text with a button that copies it. */
export function copied(text) {
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  return element("div.command", element("code", text), copy);
}

/** Show who did what with a document, and when. */
export async function showHistory(number) {
  const corrections = await get(`/review/documents/${number}/history`);
  const rows = corrections.map(({ time, reviewer, action, name, before, after }) =>
    element(
      "tr",
      element("td", new Date(time * 1000).toLocaleString()),
      element("td", quoted(reviewer)),
      element("td", action),
      element("td", quoted(name)),
      element("td", before === null || before === after ? "" : [quoted(before), " → "], after && quoted(after)),
    ),
  );
  const heading = ["time", "reviewer", "action", "value", "text"].map((text) => element("th", { scope: "col" }, text));
  const table = element("table", element("thead", element("tr", heading)), element("tbody", rows));
  const none = element("p", "Nobody has changed this document.");
  await show("History", rows.length ? element("div.wide", { tabindex: 0 }, table) : none);
}

/** Ask for the names of the values of a record whose name is new; none after Escape. */
export async function askForNames(record) {
  const input = element("input", { id: "value-names", required: true, maxlength: 1000 });
  const text = `No document has a record of the name ${visible(record)}. Names of its values, with commas between`;
  const content = element("p", element("label", { for: "value-names" }, text), input);
  const choice = await ask("New record", content, [["add", "Add"]]);
  if (choice !== "add") return [];
  return input.value.split(",").flatMap((name) => name.trim() || []);
}

/**
 * Ask what becomes of the values that nobody has looked at, before a document is finished.
 *
 * Resolves with their state, see `Review.finish`: "confirmed" or "removed"; "open" if none needs a look and they are not
 * to be learnt; "" to look at them first.
 */
export function askForState(review) {
  const { unseen, open } = review;
  const rows = unseen.map((value) =>
    element(
      "li",
      quoted(value.name, { class: "name" }),
      ": ",
      quoted(value.text),
      value.state === "rejected" ? " (wrong: it is removed)" : "",
      review.needsLook(value) ? "" : " (accepted by the model: learnt only if you confirm it)",
    ),
  );
  const learnt = review.values.filter((value) => value.state === "confirmed" && value.text);
  const names = quoted([...new Set(learnt.map((value) => value.name))].join(", ") || "none");
  const rest = "); nobody has looked at these:";
  const content = element(
    "div",
    element("p", `A finished document is training data. ${learnt.length} values are learnt (`, names, rest),
    element("ul", rows),
  );
  const title = open.length
    ? `${open.length} value${open.length === 1 ? "" : "s"} still need${open.length === 1 ? "s" : ""} a look`
    : "Nobody has looked at some values";
  return ask(title, content, [
    ["", "Look at them", { autofocus: true }],
    ["confirmed", "Confirm all and finish"],
    open.length ? ["removed", "Remove all and finish"] : ["open", "Finish, and learn only the others"],
  ]);
}
