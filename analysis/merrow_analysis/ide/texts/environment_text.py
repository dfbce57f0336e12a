"""What there is to say about the environment that a node acts in."""

from __future__ import annotations

from merrow_analysis.definitions.environments import SHIPPED
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.ide.texts.markup import CodeSpan, Markup


def environment_text(settings: WorkflowSettings, name: str) -> Markup:
    """What an environment is; nothing where it is not known."""
    declared = settings.environments.get(name)
    text = Markup()
    if declared is None:
        return text.say(SHIPPED[name]) if name in SHIPPED else text
    if declared.server is not None:
        return text.say("The environment ", CodeSpan(name), " is of the server ", CodeSpan(declared.server), ".")
    if declared.recipes is not None:
        folder = CodeSpan(declared.recipes)
        return text.say("The environment ", CodeSpan(name), " is textcraft with the recipes of ", folder, ".")
    return text.say("The environment ", CodeSpan(name), " is Gymnasium's ", CodeSpan(declared.gymnasium or ""), ".")
