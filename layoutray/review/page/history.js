// Who did what with a document, and when.

import { get } from "./api.js";
import { show } from "./dialog.js";
import { element, quoted } from "./elements.js";

export async function showHistory(number) {
  const corrections = await get(`/review/documents/${number}/history`);
  const rows = corrections.map((one) =>
    element(
      "tr",
      {},
      element("td", {}, new Date(one.time * 1000).toLocaleString()),
      element("td", {}, quoted(one.reviewer)),
      element("td", {}, one.action),
      element("td", {}, quoted(one.name)),
      element(
        "td",
        {},
        one.before === null || one.before === one.after ? "" : quoted(one.before),
        one.before === null || one.before === one.after ? "" : " → ",
        one.after === null ? "" : quoted(one.after),
      ),
    ),
  );
  const heading = ["time", "reviewer", "action", "value", "text"].map((text) => element("th", { scope: "col" }, text));
  await show(
    "History",
    corrections.length
      ? element(
          "div",
          { class: "wide", tabindex: 0 },
          element("table", {}, element("thead", {}, element("tr", {}, heading)), element("tbody", {}, rows)),
        )
      : element("p", {}, "Nobody has changed this document."),
  );
}
