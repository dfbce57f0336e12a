"""A good deck, written by a function so that tests can leave things out of it."""

from __future__ import annotations

SECTIONS = ("Q-learning", "PPO")
PARTS = ("motivation", "problem", "intuition", "mathematics")
SETTINGS = {"frames": 10, "sections": list(SECTIONS), "parts": list(PARTS), "equations": 2}

HEAD = r"""\documentclass{beamer}
\usepackage{amsmath,lmodern,tikz}
\title{Reinforcement learning}
\begin{document}
\begin{frame}
  \titlepage
\end{frame}
\begin{frame}{Contents}
  \tableofcontents
\end{frame}
"""
SECTION = r"""\section{NAME}
\begin{frame}{NAME: motivation}
  An agent acts again and again, and each act has consequences later.
\end{frame}
\begin{frame}
  \frametitle{NAME: the problem}
  Which act is best in a state is not known beforehand. % nobody says so
\end{frame}
\begin{frame}{NAME: intuition}
  \begin{itemize}
    \item<1-> Try what seems good,
    \item<2-> see what comes of it,
    \item<3-> and think better or worse of it.
  \end{itemize}
\end{frame}
\begin{frame}{NAME: mathematics}
  The value of an act is moved towards what was seen of it:
  \[ Q(s, a) \leftarrow Q(s, a) + \alpha \bigl(r + \gamma \max_b Q(t, b) - Q(s, a)\bigr) \]
  \begin{equation*}
    0 < \alpha \le 1
  \end{equation*}
\end{frame}
"""


def deck(*sections: str, head: str = HEAD, end: str = "\\end{document}\n") -> str:
    """A deck of these sections' texts; without any, of `SECTIONS`."""
    return head + "".join(sections or (SECTION.replace("NAME", name) for name in SECTIONS)) + end
