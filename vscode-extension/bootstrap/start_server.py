"""Start Merrow's language server from the parts that lie beside this file, whatever else the interpreter has installed.

    python -I -S start_server.py LIBRARIES [MODEL_PACKAGES]

``-I -S`` leave out the environment's variables, the current folder and all of ``site-packages``; only the standard library
remains. ``LIBRARIES`` comes before it, ``MODEL_PACKAGES`` (what the model access needs, where that was set up) behind it.
"""

import sys

OLDEST = (3, 11)


def main(libraries, packages):
    if sys.version_info < OLDEST:
        # An interpreter changed after it was chosen; nothing below would even parse.
        sys.stderr.write("Merrow needs Python 3.11 or newer; this is {}.{}.\n".format(*sys.version_info))
        return 3
    sys.path.insert(0, libraries)
    sys.path.extend(packages)
    import gc

    gc.disable()  # what imports make is no garbage; the server takes over from here
    from merrow_server.language_server import serve

    return serve()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
