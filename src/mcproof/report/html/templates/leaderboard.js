"use strict";
(() => {
  const query = document.getElementById("query");
  if (!query) return;
  const rows = [...document.querySelectorAll(".board tbody tr")].map((element) => ({
    element,
    text: element.textContent.toLowerCase(),
  }));
  const count = document.getElementById("count");
  query.hidden = false;
  query.addEventListener("input", () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const matches = words.every((word) => row.text.includes(word));
      row.element.hidden = !matches;
      shown += matches;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} match` : "";
  });
})();
