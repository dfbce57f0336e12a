"""``python -m merrow_server`` is the ``merrow`` program."""

import sys

from merrow_server.cli import main

if __name__ == "__main__":
    sys.exit(main())
