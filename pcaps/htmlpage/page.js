"use strict";
// dress makes tables sortable and data savable, in a page or a part of one.
const dress = root => {
for (const table of root.querySelectorAll("table.sort")) {
  const heads = table.tHead.rows[0].cells;
  for (const th of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") === "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => {
        const cell = row.cells[th.cellIndex], text = cell.dataset.v ?? cell.textContent;
        return text === "" || isNaN(text) ? text : Number(text);
      };
      const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
        : typeof a === "number" ? 1 : typeof b === "number" ? -1 : a < b ? -1 : a > b ? 1 : 0;
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * order(key(a), key(b))));
    });
  }
}
for (const pre of root.querySelectorAll("pre.csv")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "save";
  button.textContent = "save as " + pre.dataset.name;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([pre.textContent], {type: "text/csv"}));
    link.download = pre.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  pre.before(button);
}
};
dress(document);
