
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const filter = byId("filter");
  if (!filter) return;

  const FEW = 60; // so many matches are shown open
  const query = byId("query");
  const ruleChoice = byId("rule"); // tests have no rules to choose from
  const rulesetChoice = byId("ruleset");
  const boxes = [...filter.querySelectorAll("input[type=checkbox]")];
  const rulesetOf = new Map([...filter.querySelectorAll("option[data-ruleset]")].map((option) => [option.value, option.dataset.ruleset]));

  const groups = [...document.querySelectorAll(".group")].map((element) => ({
    element,
    target: element.closest(".target"),
    name: element.querySelector(".title").textContent,
    count: 0,
  }));
  const findings = groups.flatMap((group) => [...group.element.querySelectorAll(".finding, .test")].map((element) => {
    const rules = element.dataset.rules?.split(" ") ?? [];
    return {
      element,
      group,
      level: element.dataset.outcome ?? element.classList[1],
      rules,
      rulesets: rules.map((rule) => rulesetOf.get(rule)),
      suppressed: element.classList.contains("suppressed"),
      text: null,
    };
  }));
  const targets = [...document.querySelectorAll(".target")];
  const noun = query.placeholder.split(" ").pop();
  const opened = new Set(); // what a search has opened, and closes again

  const textOf = (finding) => {
    finding.text ??= `${finding.group.name} ${finding.element.textContent}`.toLowerCase();
    return finding.text;
  };

  function apply() {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const rule = ruleChoice?.value;
    const ruleset = rulesetChoice?.value;
    const withSuppressed = levels.has("suppressed");
    let matches = 0;
    let total = 0;
    for (const group of groups) group.count = 0;
    for (const finding of findings) {
      const counts = withSuppressed || !finding.suppressed;
      total += counts;
      const shown = counts && levels.has(finding.level)
        && (!rule || finding.rules.includes(rule))
        && (!ruleset || finding.rulesets.includes(ruleset))
        && words.every((word) => textOf(finding).includes(word));
      if (shown) { matches += 1; finding.group.count += 1; }
      if (finding.element.hidden === shown) finding.element.hidden = !shown;
    }
    const narrowed = matches < total;
    for (const group of groups) {
      if (group.element.hidden !== !group.count) group.element.hidden = !group.count;
    }
    const alive = new Set(groups.filter((group) => group.count).map((group) => group.target));
    for (const target of targets) target.hidden = narrowed && !alive.has(target);
    reveal(narrowed && matches <= FEW, alive);
    const number = (value) => value.toLocaleString("en");
    byId("matches").value = narrowed ? `${number(matches)} of ${number(total)} ${noun}` : `${number(total)} ${noun}`;
    byId("nothing").hidden = matches > 0 || total === 0;
    byId("clear").disabled = byId("clear").hidden = !narrowed && !words.length;
  }

  function reveal(few, alive) {
    if (!few) {
      for (const element of opened) element.open = false;
      opened.clear();
      return;
    }
    const wanted = [...groups.filter((group) => group.count).map((group) => group.element), ...targets.filter((target) => alive.has(target))];
    for (const element of wanted) {
      if (element.open) continue;
      element.open = true;
      opened.add(element);
    }
  }

  let waiting = false;
  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; apply(); });
  }

  function clear() {
    for (const field of [query, ...filter.querySelectorAll("select")]) field.value = "";
    for (const box of boxes) box.checked = box.defaultChecked;
    apply();
  }

  function setOpen(open) {
    for (const { element } of groups) if (!element.hidden) element.open = open;
    for (const element of targets) if (!element.hidden) element.open = open;
    opened.clear();
  }

  // The help of a rule, in place: a copy of the section at the end of the page.
  function toggleHelp(link) {
    const where = link.closest(".where");
    const shown = where.nextElementSibling;
    const before = shown?.classList.contains("inline") ? shown.dataset.of : null;
    if (before) {
      shown.remove();
      for (const each of where.querySelectorAll(".rule")) each.setAttribute("aria-expanded", "false");
    }
    if (before === link.hash) return;
    const help = byId(link.hash.slice(1)).cloneNode(true);
    help.removeAttribute("id");
    help.className = "inline advice-of";
    help.dataset.of = link.hash;
    where.after(help);
    link.setAttribute("aria-expanded", "true");
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".finding a.rule");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      toggleHelp(link);
    }
    const only = ruleChoice && event.target.closest?.("button.only");
    if (only) {
      clear();
      ruleChoice.value = only.value;
      apply();
      byId("findings").scrollIntoView();
      ruleChoice.focus({ preventScroll: true });
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest?.("input, select, textarea") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      query.focus();
    } else if (event.key === "Escape" && event.target === query) {
      query.value = "";
      apply();
    }
  });

  const closed = [];
  addEventListener("beforeprint", () => {
    for (const element of document.querySelectorAll("details:not([open], [hidden])")) {
      element.open = true;
      closed.push(element);
    }
  });
  addEventListener("afterprint", () => {
    for (const element of closed.splice(0)) element.open = false;
  });

  query.addEventListener("input", soon);
  filter.addEventListener("change", soon);
  byId("expand").addEventListener("click", () => setOpen(true));
  byId("collapse").addEventListener("click", () => setOpen(false));
  byId("clear").addEventListener("click", () => { clear(); query.focus(); });

  for (const button of document.querySelectorAll("button.only")) button.hidden = !ruleChoice;
  for (const link of document.querySelectorAll(".finding a.rule")) link.setAttribute("aria-expanded", "false");
  filter.hidden = false;
  apply();
})();
