"""``python -m merrow_server`` is the ``merrow`` program."""

import sys

if __name__ == "__main__":
    # Python puts the current folder before all packages, and a workspace's files must not be imported in their place.
    if not sys.flags.safe_path:
        sys.path.pop(0)

    from merrow_server.cli import main

    sys.exit(main())
