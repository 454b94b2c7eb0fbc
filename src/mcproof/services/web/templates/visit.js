"use strict";
(() => {
  // Progress: the page loads itself again when the check is done. Without this script it does so every two seconds.
  const progress = document.getElementById("progress");
  if (progress) {
    const steps = [...document.querySelectorAll(".steps li")];
    const source = new EventSource(progress.dataset.events);
    const show = (event) => {
      const { step, before } = JSON.parse(event.data);
      const now = steps.findIndex((each) => each.dataset.step === step);
      steps.forEach((each, number) => {
        each.className = number < now ? "over" : number === now ? "now" : "";
        if (number === now) each.setAttribute("aria-current", "step");
        else each.removeAttribute("aria-current");
      });
      if (now < 0) return;
      const text = steps[now].textContent + (step === "waiting" && before ? `, ${before} before you` : "");
      if (progress.textContent !== text) progress.textContent = text;
    };
    source.addEventListener("step", show);
    source.addEventListener("done", () => { source.close(); location.reload(); });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 2000);
    });
  }

  // Buttons that copy.
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll("pre.copyable, .advice-of pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    const frame = document.createElement("div");
    frame.className = "copying";
    block.replaceWith(frame);
    frame.append(block, button);
  }
  document.addEventListener("click", async (event) => { // also for copies of a block that another script makes
    const button = event.target.closest?.("button.copy");
    if (!button) return;
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
})();
