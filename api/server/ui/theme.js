// Runs before anything is drawn, so that the page does not flash in the colours of the other theme.
{
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
