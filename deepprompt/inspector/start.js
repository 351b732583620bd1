/* Reads the data, shows them, and listens to the one key that works everywhere. */
(() => {
  const view = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  ({ prompt: showPrompt, difference: showDifference, session: showSession, report: showReport })[view.kind](page, view);
  document.addEventListener("keydown", (event) => {
    const field = document.getElementById("find");
    if (event.key !== "/" || !field || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "SELECT"].includes(document.activeElement.tagName)) return;
    event.preventDefault();
    field.focus();
  });
})();
