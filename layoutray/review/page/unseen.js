// Asks what becomes of the values that nobody has looked at, before a document is finished.

import { ask } from "./dialog.js";
import { element, quoted } from "./elements.js";

/** The state that a person gives to all of these values: "confirmed" or "removed"; "" to look at them first. */
export function askForState(values) {
  const rows = values.map((value) => element("li", {}, quoted(value.name, { class: "name" }), ": ", quoted(value.text)));
  const content = element(
    "div",
    {},
    element("p", {}, "A finished document is training data, so each value must be right."),
    element("ul", {}, rows),
  );
  const title = values.length === 1 ? "1 value still needs a look" : `${values.length} values still need a look`;
  return ask(title, content, [
    ["", "Look at them"],
    ["confirmed", "Confirm all and finish"],
    ["removed", "Remove all and finish"],
  ]);
}
