// Drafts: what the server has not saved yet, kept in this browser. They have values of documents.

const PREFIX = "layoutray-draft-";
const ACCOUNT = "layoutray-account";
const LONGEST = 7 * 24 * 60 * 60 * 1000;

export const read = (document) => JSON.parse(localStorage.getItem(key(document)) ?? "null");
export const remove = (document) => localStorage.removeItem(key(document));
export const keep = (document, draft) =>
  localStorage.setItem(key(document), JSON.stringify({ ...draft, kept: Date.now() }));

/** Remove the drafts of another account, and those of more than a week ago. */
export function removeOthers(account) {
  const other = localStorage.getItem(ACCOUNT) !== account;
  localStorage.setItem(ACCOUNT, account);
  for (const name of names()) {
    const age = Date.now() - JSON.parse(localStorage.getItem(name)).kept;
    if (other || !(age < LONGEST)) localStorage.removeItem(name);
  }
}

export function removeAll() {
  names().forEach((name) => localStorage.removeItem(name));
}

const names = () => Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));

/** Another review file may have another document with the same number at the same address. */
const key = ({ number, doc_id }) => `${PREFIX}${number}-${doc_id}`;
