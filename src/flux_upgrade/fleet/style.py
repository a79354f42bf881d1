"""The style sheet of the HTML page, in light and dark as the reader's system has it. Nothing is loaded for it."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f8fa, #0d1117);
  --card: light-dark(#ffffff, #151b23);
  --border: light-dark(#d1d9e0, #3d444d);
  --text: light-dark(#1f2328, #f0f6fc);
  --muted: light-dark(#59636e, #9198a1);
  --link: light-dark(#0969da, #4493f8);
  --red: light-dark(#cf222e, #f85149);
  --orange: light-dark(#bc4c00, #f0883e);
  --yellow: light-dark(#9a6700, #d29922);
  --green: light-dark(#1a7f37, #3fb950);
  --gray: light-dark(#59636e, #9198a1);
}
* { box-sizing: border-box; }
body {
  max-width: 1800px; margin: 0 auto; padding: 24px; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, "Segoe UI", "Noto Sans", "Liberation Sans", Arial, sans-serif;
}
header { display: flex; align-items: baseline; gap: 16px; margin-bottom: 16px; }
header p:last-child { margin-left: auto; }
h1 { margin: 0; font-size: 28px; }
h2 { margin: 0 0 12px; font-size: 18px; }
a { color: var(--link); }
.muted, header p { margin: 0; color: var(--muted); }
.top { display: grid; grid-template-columns: minmax(0, 3fr) minmax(320px, 2fr); gap: 16px; margin-bottom: 16px; }
.tiles {
  display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); gap: 12px; margin: 0;
}
.tiles div, .card { border: 1px solid var(--border); border-radius: 8px; background: var(--card); }
.tiles div {
  display: flex; flex-direction: column-reverse; justify-content: center; padding: 12px 16px;
  border-top: 4px solid var(--state, var(--border));
}
.tiles dd { margin: 0; font-size: 44px; font-weight: 600; line-height: 1.1; font-variant-numeric: tabular-nums; }
.tiles dt { color: var(--muted); }
.card { padding: 16px; margin-bottom: 16px; overflow-x: auto; }
.top .card { margin: 0; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--text); font-size: 14px; font-variant-numeric: tabular-nums; }
svg text.lag { fill: var(--muted); font-size: 12px; }
svg rect { fill: var(--state); }
table { width: 100%; border-collapse: collapse; }
th { padding: 0 12px 8px 0; color: var(--muted); font-weight: 500; text-align: left; }
td { padding: 7px 12px 7px 0; border-top: 1px solid var(--border); vertical-align: top; }
td:last-child, th:last-child { padding-right: 0; }
td.why { min-width: 240px; overflow-wrap: anywhere; }
td.flux, td.state, td.since b { white-space: nowrap; font-variant-numeric: tabular-nums; }
td.clusters { min-width: 230px; }
td.since span { color: var(--muted); }
.badge {
  display: inline-block; padding: 1px 10px; border: 1px solid var(--state); border-radius: 2em;
  color: var(--state); font-size: 13px; font-weight: 600;
}
.needs .badge { background: var(--state); color: var(--card); }
code, td.repository b, .current b {
  display: inline-block; max-width: 26em; overflow: hidden; vertical-align: bottom; text-overflow: ellipsis;
  white-space: nowrap;
}
code { margin-right: 8px; font: 13px/1.6 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
.current {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 10px 24px;
  margin: 0; padding: 0; list-style: none;
}
.run-failed, .no-report { --state: var(--red); }
.old-report, .action-required { --state: var(--orange); }
.needs-approval { --state: var(--yellow); }
.ready-to-merge { --state: var(--link); }
.held, .waits, .unknown { --state: var(--gray); }
.up-to-date, .newest-minor { --state: var(--green); }
.one-minor-behind { --state: var(--yellow); }
.older { --state: var(--red); }
@media (max-width: 1000px) {
  .top { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(auto-fill, minmax(110px, 1fr)); }
}
"""
