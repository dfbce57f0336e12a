"""The code that runs inside the sandboxed process.

These modules are sent to the guest through its standard input, so it doesn't need to read any of Merrow's files. They use only
the standard library and each other; nothing here may import the rest of Merrow.
"""
