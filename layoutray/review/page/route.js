// What the address says: `#/?FILTERS` is the queue, `#/questions` the mode yes or no, `#/document/NUMBER` a document, with
// `?correct=ID` to correct a value of it and to go on with the questions.

const QUERY = "layoutray-queue";

/** The view that the address names: `{ number, correct }` of a document, `{ questions }`, or `{ filters }` of the queue. */
export function route() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const number = /^\/document\/(\d+)$/.exec(path)?.[1];
  if (number) return { number: Number(number), correct: new URLSearchParams(query).get("correct") ?? "" };
  if (path === "/questions") return { questions: true };
  sessionStorage.setItem(QUERY, query);
  return { filters: new URLSearchParams(query) };
}

/** The filters of the latest queue, as a query; "" without any. */
export function queueQuery() {
  const query = sessionStorage.getItem(QUERY);
  return query ? `?${query}` : "";
}
