"""Run as another user by `test_attacks`: an evaluation, three attacks and a test through the public door."""

from __future__ import annotations

import asyncio
import sys


async def main() -> None:
    from merrow_runtime.sandbox import Sandbox

    sandbox = Sandbox("landlock")
    shown = [(await sandbox.means()).name]
    fine = await sandbox.evaluate("def solve():\n    return 6 * 7")
    shown += [fine.outcome, str(fine.value)]
    for attack in ("open('/etc/passwd').read()", "__import__('os').fork()", "__import__('socket').socket()"):
        shown.append((await sandbox.evaluate(f"def solve():\n    return {attack}")).outcome)
    shown.append((await sandbox.test("def f(x):\n    return x + 1", ["assert f(1) == 2"], "f")).outcome)
    sys.stdout.write("\n".join(shown))


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    asyncio.run(main())
