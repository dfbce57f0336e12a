"""What runs inside the sandboxed process.

These modules are sent to the guest through its standard input, so that it needs to read no file of Merrow. They use the standard
library only and each other; nothing here may import the rest of Merrow.
"""
