// Asks what becomes of the values that nobody has looked at, before a document is finished.

import { ask } from "./dialog.js";
import { element, quoted } from "./elements.js";

/**
 * The state that a person gives to the values of a review that nobody has looked at, see `Review.finish`: "confirmed" or
 * "removed"; "open" if none needs a look and they are not to be learnt; "" to look at them first.
 */
export function askForState(review) {
  const { unseen, open } = review;
  const rows = unseen.map((value) =>
    element(
      "li",
      {},
      quoted(value.name, { class: "name" }),
      ": ",
      quoted(value.text),
      value.state === "rejected" ? " (wrong: it is removed)" : "",
      review.needsLook(value) ? "" : " (accepted by the model: learnt only if you confirm it)",
    ),
  );
  const learnt = review.values.filter((value) => value.state === "confirmed");
  const names = quoted([...new Set(learnt.map((value) => value.name))].join(", ") || "none");
  const rest = "); nobody has looked at these:";
  const content = element(
    "div",
    {},
    element("p", {}, `A finished document is training data. ${learnt.length} values are learnt (`, names, rest),
    element("ul", {}, rows),
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
