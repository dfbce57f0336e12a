"""A good website of two files."""

from __future__ import annotations

SETTINGS = {
    "information": ["ICLR 2025", "Singapore"],
    "schedule": ["24 April|April 24", "09:00|9:00"],
    "venue": ["Singapore EXPO"],
}
PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>ICLR 2025</title>
  <link rel="stylesheet" href="style.css">
</head>
<body>
  <nav><a href="#schedule">Schedule</a> <a href="#venue">Venue</a> <a href="https://iclr.cc">More</a></nav>
  <header><h1>ICLR 2025</h1><p>24 to 28 April 2025, Singapore</p></header>
  <section id="schedule">
    <h2>Schedule</h2>
    <table><tr><th>24 April</th><td>09:00</td><td>Opening</td></tr></table>
  </section>
  <section id="venue">
    <h2>Venue</h2>
    <p>Singapore EXPO, 1 Expo Drive</p>
    <svg width="300" height="200" role="img" aria-label="Map"><rect width="300" height="200"></rect></svg>
  </section>
  <script>document.title = document.title + " in Singapore";</script>
</body>
</html>
"""
STYLE = "body { font-family: sans-serif; color: #222; } table { border-collapse: collapse; }\n"
